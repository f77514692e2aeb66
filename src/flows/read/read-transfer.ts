/** Reads transfers and top-ups by their ref, with every stored answer. */

import { z } from "zod";
import {
  AMOUNT,
  type AnswerOf,
  COUNT,
  FLAG,
  INSTANT,
  LIST_COUNT,
  listOf,
  NEXT,
  objectOf,
  TEXT,
} from "../../answer.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { formatMoney } from "../../money.ts";
import { TRANSFER_STATUSES, TRANSFER_TYPES } from "../../transfer.ts";
import { VERIFY_KINDS, type Verification, type VerifyKind } from "../../verify/row-store.ts";
import { findByRef, readAnswers } from "../../verify/store.ts";
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

const STATUS = z.enum(TRANSFER_STATUSES);

/** A transfer as JSON for commands and HTTP. */
export const TRANSFER = objectOf({
  transactionRef: TEXT,
  productId: TEXT,
  username: TEXT,
  /** of a top-up DEBIT, CREDIT */
  type: z.enum([...TRANSFER_TYPES, "DEBIT", "CREDIT"]),
  /** two decimals or more */
  amount: AMOUNT,
  currency: TEXT,
  status: STATUS,
  attempts: COUNT,
  sentAt: INSTANT,
  nextVerifyAt: z.nullable(INSTANT),
  decidedAt: z.nullable(INSTANT),
});
export type TransferDocument = AnswerOf<typeof TRANSFER>;

export const TRANSFER_LIST = objectOf({ transfers: listOf(TRANSFER), next: NEXT, ...LIST_COUNT });

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

const ANSWER = objectOf({
  attempt: COUNT,
  askedAt: INSTANT,
  tookMs: COUNT,
  says: z.enum(["booked", "failed", "nothing"]),
  code: z.nullable(TEXT),
  message: z.nullable(TEXT),
  raw: z.nullable(TEXT),
  status: STATUS,
  isDecisive: FLAG,
  nextVerifyAt: z.nullable(INSTANT),
});

export const TRANSFER_STORY = TRANSFER.extend({
  kind: z.enum(VERIFY_KINDS),
  handedAt: INSTANT,
  rejectedAt: z.nullable(INSTANT),
  /** null: there is no mismatch */
  mismatchKind: z.nullable(TEXT),
  closedBy: z.nullable(TEXT),
  note: z.nullable(TEXT),
  answers: listOf(ANSWER),
});
export type TransferStory = AnswerOf<typeof TRANSFER_STORY>;

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
