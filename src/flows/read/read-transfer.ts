/** Reads transfers and top-ups by their ref, with every stored answer. */

import { formatInstant, type Instant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { formatMoney } from "../../money.ts";
import type { TransferStatus } from "../../transfer.ts";
import { VERIFY_KINDS, type Verification, type VerifyKind } from "../../verify/row-store.ts";
import { findByRef, type KeptAnswer, readAnswers } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";

/** The choice of one: a ref is unique among transfers, but top-ups of several products or players may share a ref. */
export interface TransferChoice {
  readonly ref: string;
  /** null: the transfer, or else the top-up */
  readonly kind: VerifyKind | null;
  readonly productId: string | null;
  readonly username: string | null;
}

/** @throws ReconError `not-found`, or `conflict` if several top-ups have the ref */
export async function findTransfer({ sql }: FlowContext, choice: TransferChoice): Promise<Verification> {
  const { ref, productId, username } = choice;
  for (const kind of choice.kind === null ? VERIFY_KINDS : [choice.kind]) {
    const found = (await findByRef(sql, kind, ref)).filter(
      ({ sent }) =>
        (productId === null || sent.productId === productId) &&
        (username === null || sent.username === username),
    );
    const [first] = found;
    if (found.length === 1 && first !== undefined) return first;
    if (found.length > 1) {
      throw new ReconError(
        "conflict",
        `several top-ups have the ref "${showRef(ref)}": name product and username too`,
      );
    }
  }
  throw new ReconError("not-found", `there is no ${choice.kind ?? "transfer"} "${showRef(ref)}"`);
}

/** A transfer as JSON for commands and HTTP. */
export interface TransferDocument {
  readonly transactionRef: string;
  readonly productId: string;
  readonly username: string;
  /** DEPOSIT, WITHDRAW; of a top-up DEBIT, CREDIT */
  readonly type: string;
  /** decimal text, two decimals or more */
  readonly amount: string;
  readonly currency: string;
  readonly status: TransferStatus;
  readonly attempts: number;
  readonly sentAt: string;
  readonly nextVerifyAt: string | null;
  readonly decidedAt: string | null;
}

export function describeTransfer({ sent, state }: Verification): TransferDocument {
  return {
    transactionRef: sent.transactionRef,
    productId: sent.productId,
    username: sent.username,
    type: sent.type,
    amount: formatMoney(sent.amount, "").trimEnd(),
    currency: sent.currency,
    status: state.status,
    attempts: state.attempts,
    sentAt: formatInstant(sent.sentAt),
    nextVerifyAt: showInstantOrNull(state.nextVerifyAt),
    decidedAt: showInstantOrNull(state.decidedAt),
  };
}

export interface TransferStory extends TransferDocument {
  readonly kind: VerifyKind;
  readonly handedAt: string;
  readonly rejectedAt: string | null;
  /** null: there is no mismatch */
  readonly mismatchKind: string | null;
  readonly closedBy: string | null;
  readonly note: string | null;
  readonly answers: readonly (Omit<KeptAnswer, "askedAt" | "nextVerifyAt"> & {
    readonly askedAt: string;
    readonly nextVerifyAt: string | null;
  })[];
}

/** Reads one with every stored answer. @throws ReconError as `findTransfer` */
export async function readTransferStory(
  context: FlowContext,
  choice: TransferChoice,
): Promise<TransferStory> {
  const found = await findTransfer(context, choice);
  const answers = await readAnswers(context.sql, found.kind, found.id);
  return {
    ...describeTransfer(found),
    kind: found.kind,
    handedAt: formatInstant(found.state.handedAt),
    rejectedAt: showInstantOrNull(found.state.rejectedAt),
    mismatchKind: found.state.mismatchKind,
    closedBy: found.closedBy,
    note: found.note,
    answers: answers.map((one) => ({
      ...one,
      askedAt: formatInstant(one.askedAt),
      nextVerifyAt: showInstantOrNull(one.nextVerifyAt),
    })),
  };
}

function showInstantOrNull(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant);
}

/** A ref in an error. */
export function showRef(text: string): string {
  return text.slice(0, 60);
}
