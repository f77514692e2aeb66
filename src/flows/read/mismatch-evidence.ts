/**
 * The evidence of one mismatch: what both sides said, as they said it. Decisions and comments about the mismatch,
 * its owner and its reminder are not part of it, because the evidence is for the provider.
 */

import { parse } from "lossless-json";
import { z } from "zod";
import { AMOUNT, type AnswerOf, FLAG, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { realRound } from "../../bet.ts";
import { CALLBACKS, type CallbackEntry } from "../../callback.ts";
import { bodyIdOf, type FoundBody, findRefusedBodies, readBodies } from "../../callbacks/body-store.ts";
import { keepText } from "../../callbacks/raw-body.ts";
import { formatInstant } from "../../clock.ts";
import { effectOf } from "../../effect.ts";
import { ReconError } from "../../errors.ts";
import { readEntries } from "../../ledger/store.ts";
import { MISMATCH, type Mismatch } from "../../mismatch.ts";
import { formatAmount } from "../../money.ts";
import { readWholeVersions, type VersionChoice, type WholeVersion } from "../../sync/record-version-store.ts";
import { mergeRanges } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import { chooseEvents, distinct, MOST_EVENTS, readLedgerEntries } from "./choose-events.ts";
import { compareSides, FIELD_COMPARISON } from "./compare-sides.ts";
import { EVENT_FETCH, readFetches } from "./read-fetches.ts";
import { readTransferStory, TRANSFER_STORY } from "./read-transfer.ts";

/** Of one mismatch. */
const MOST_BODY_BYTES = 10 * 1024 * 1024;
/** Refused requests are searched around each time that a side names; the index of their times bounds the search. */
const SEARCHED_MS = 60_000;
const MOST_SEARCHED = 5_000;

/** A callback that the operator answered with success. */
const ENTRY = objectOf({
  entryId: TEXT,
  callback: z.enum(CALLBACKS),
  requestId: TEXT,
  productId: TEXT,
  username: TEXT,
  currency: TEXT,
  txnId: TEXT,
  roundId: z.nullable(TEXT),
  status: TEXT,
  betAmount: z.nullable(AMOUNT),
  payoutAmount: z.nullable(AMOUNT),
  transactionType: z.nullable(TEXT),
  singleState: z.nullable(FLAG),
  endRound: z.nullable(FLAG),
  skipBalanceUpdate: FLAG,
  moved: z.nullable(AMOUNT),
  balanceBefore: z.nullable(AMOUNT),
  balanceAfter: z.nullable(AMOUNT),
  occurredAt: INSTANT,
  receivedAt: INSTANT,
  /** of `bodies`; null: there is none */
  bodyId: z.nullable(TEXT),
  /** deleted: `retain.rawBodies` keeps no older ones; never-kept: the callbacks server did not answer this callback */
  body: z.enum(["kept", "deleted", "never-kept"]),
});
type EvidenceEntry = AnswerOf<typeof ENTRY>;

/** The text of a request as it came, without session tokens. */
const BODY = objectOf({
  id: TEXT,
  callback: TEXT,
  requestId: z.nullable(TEXT),
  statusCode: z.number().meta({ type: "integer" }),
  body: TEXT,
  receivedAt: INSTANT,
});

/** One version of a record. */
const RECORD = objectOf({
  record: z.record(TEXT, z.nullable(TEXT)).meta({ description: "the fields of §2.4" }),
  /** JSON text of the fields that the interface does not name; null: there are none */
  extra: z.nullable(TEXT),
  /** they are too long to be part of the evidence */
  isExtraLeftOut: FLAG,
  firstSeenAt: INSTANT,
  /** when the request that returned this version was sent */
  requestedAt: INSTANT,
  /** null: this is the present version */
  replacedAt: z.nullable(INSTANT),
});
type EvidenceRecord = AnswerOf<typeof RECORD>;

const TRANSFER = TRANSFER_STORY.omit({ closedBy: true, note: true, mismatchKind: true, nextVerifyAt: true });

/** What is the operator's own; the provider knows its ticket. */
const DECISIONS = {
  note: true,
  resolvedBy: true,
  resolvedAt: true,
  status: true,
  countsOn: true,
  owner: true,
  remindAt: true,
} as const;

export const MISMATCH_EVIDENCE = MISMATCH.omit(DECISIONS).extend({
  effect: z.nullable(
    AMOUNT.meta({ description: "above 0 the player has too much, below 0 too little; null if unknown" }),
  ),
  sides: listOf(FIELD_COMPARISON),
  /** in the order of their times */
  entries: listOf(ENTRY),
  /** of the entries, and of requests that were refused and name this bet */
  bodies: listOf(BODY),
  /** the oldest first */
  records: listOf(RECORD),
  fetches: listOf(EVENT_FETCH),
  /** null: the mismatch is not about a transfer or a top-up, or it is deleted */
  transfer: z.nullable(TRANSFER),
  /** sentences about what is missing here, and why */
  missing: listOf(TEXT),
});
export type MismatchEvidence = AnswerOf<typeof MISMATCH_EVIDENCE>;

/** @throws ReconError `usage` if the bodies are too large for a file */
export async function readMismatchEvidence(
  context: FlowContext,
  mismatch: Mismatch,
): Promise<MismatchEvidence> {
  const { sql } = context;
  const { note: _, resolvedBy: _by, resolvedAt: _at, status: _status, countsOn: _on, ...seen } = mismatch;
  const { owner: _owner, remindAt: _remind, ...facts } = seen;
  // Without corrections: they are decisions, too.
  const effect = effectOf(mismatch);
  const choice = chooseEvents(mismatch);
  // One after the other: a file takes no more than one connection.
  const entries = await readEvidenceEntries(context, mismatch, choice);
  const isBet = mismatch.transactionRef === null;
  const versions = isBet ? await readWholeVersions(sql, mismatch.productId, choice, MOST_EVENTS + 1) : [];
  const transfer = await readTransferOf(context, mismatch);
  const shown = entries.slice(0, MOST_EVENTS);
  const times = shown.map((one) => ({
    at: formatInstant(one.occurredAt),
    seenAt: formatInstant(one.receivedAt),
  }));
  const bodies = await readBodiesOf(context, mismatch, choice, shown);
  const described = shown.map((entry) => describeEntry(entry, bodies.own));
  return {
    ...facts,
    effect: effect === null ? null : formatAmount(effect),
    sides: compareSides(mismatch),
    entries: described,
    bodies: bodies.all.map(({ productId: _product, receivedAt, ...body }) => ({
      ...body,
      receivedAt: formatInstant(receivedAt),
    })),
    records: versions.slice(0, MOST_EVENTS).map((one) => describeVersion(mismatch.productId, one)),
    fetches: await readFetches(context, mismatch, times),
    transfer,
    missing: sayMissing(described, {
      mismatch,
      hasMoreEntries: entries.length > MOST_EVENTS,
      hasMoreRecords: versions.length > MOST_EVENTS,
      isSearchWhole: bodies.isSearchWhole,
      hasTransfer: transfer !== null,
    }),
  };
}

async function readEvidenceEntries(
  { sql }: FlowContext,
  mismatch: Mismatch,
  choice: VersionChoice,
): Promise<CallbackEntry[]> {
  const { transactionRef, productId, username } = mismatch;
  const entries =
    transactionRef === null
      ? await readLedgerEntries(sql, mismatch, choice)
      : await readEntries(sql, productId, { rounds: [], bets: [[username, transactionRef]] });
  return entries.sort((a, b) => a.occurredAt - b.occurredAt || a.receivedAt - b.receivedAt);
}

async function readTransferOf(
  context: FlowContext,
  mismatch: Mismatch,
): Promise<MismatchEvidence["transfer"]> {
  const { transactionRef: ref, kind, productId, username } = mismatch;
  if (ref === null) return null;
  const choice = kind.startsWith("top-up-")
    ? { ref, kind: "top-up" as const, productId, username }
    : { ref, kind: "transfer" as const, productId: null, username: null };
  try {
    const story = await readTransferStory(context, choice);
    const { closedBy: _, note: _note, mismatchKind: _kind, nextVerifyAt: _next, ...transfer } = story;
    return transfer;
  } catch (error) {
    if (error instanceof ReconError && error.code === "not-found") return null;
    throw error;
  }
}

async function readBodiesOf(
  { sql }: FlowContext,
  mismatch: Mismatch,
  { ids }: VersionChoice,
  entries: readonly CallbackEntry[],
): Promise<{ own: ReadonlyMap<string, FoundBody>; all: FoundBody[]; isSearchWhole: boolean }> {
  const { id, productId, transactionRef, provider, ledger, occurredAt } = mismatch;
  const wanted = distinct(entries.map(({ entryId }) => bodyIdOf(entryId)));
  const found = await readBodies(sql, wanted, MOST_BODY_BYTES);
  if (found === null) {
    throw new ReconError(
      "usage",
      `the callbacks of mismatch ${id} have more than ${MOST_BODY_BYTES / 1024 / 1024} MB, which is the most of one mismatch`,
    );
  }
  const sides = { ...ledger, ...provider } as Readonly<Record<string, string | null | undefined>>;
  const times = distinct([
    occurredAt,
    sides["accountingDate"],
    sides["updatedDate"],
    sides["firstEntryAt"],
    sides["lastEntryAt"],
  ]).map((text) => Date.parse(text));
  const around = times.map((at) => ({ from: at - SEARCHED_MS, to: at + SEARCHED_MS }));
  const round = realRound(mismatch.roundId);
  const refs = transactionRef !== null ? [transactionRef] : ids.length > 0 || round === null ? ids : [round];
  const search = { productId, refs, ranges: mergeRanges(around), most: MOST_SEARCHED };
  const refused = await findRefusedBodies(sql, search);
  // An entry of another program may have an id of this form by chance.
  const own = new Map(
    found
      .filter((body) => entries.some((entry) => isBodyOf(body, entry)))
      .map((body) => [body.id, body] as const),
  );
  const all = [...own.values(), ...refused.bodies].sort((a, b) => Number(a.id) - Number(b.id));
  return { own, all, isSearchWhole: refused.isWhole };
}

function isBodyOf({ id, productId }: FoundBody, entry: CallbackEntry): boolean {
  return id === bodyIdOf(entry.entryId) && productId === entry.productId;
}

function describeEntry(entry: CallbackEntry, bodies: ReadonlyMap<string, FoundBody>): EvidenceEntry {
  const bodyId = bodyIdOf(entry.entryId);
  const isKept = bodyId !== null && bodies.has(bodyId);
  return {
    ...entry,
    betAmount: toText(entry.betAmount),
    payoutAmount: toText(entry.payoutAmount),
    moved: toText(entry.moved),
    balanceBefore: toText(entry.balanceBefore),
    balanceAfter: toText(entry.balanceAfter),
    occurredAt: formatInstant(entry.occurredAt),
    receivedAt: formatInstant(entry.receivedAt),
    bodyId: isKept ? bodyId : null,
    body: isKept ? "kept" : bodyId === null ? "never-kept" : "deleted",
  };
}

function describeVersion(productId: string, version: WholeVersion): EvidenceRecord {
  const { extra, hasLongExtra, versionSeenAt, requestedAt, replacedAt, ...fields } = version;
  const { id, betId, username, currency, stake, payout, gameCode, gameName, roundId, betStatus } = fields;
  return {
    record: {
      id,
      betId,
      username,
      currency,
      accountingDate: formatInstant(fields.accountingDate),
      updatedDate: formatInstant(fields.updatedDate),
      stake,
      payout,
      productId,
      gameCode,
      gameName,
      roundId,
      betStatus,
      payoutStatus: fields.payoutStatus,
    },
    extra: extra === null ? null : keepText(extra, parse(extra)),
    isExtraLeftOut: hasLongExtra,
    firstSeenAt: formatInstant(versionSeenAt),
    requestedAt: formatInstant(requestedAt),
    replacedAt: replacedAt === null ? null : formatInstant(replacedAt),
  };
}

interface Known {
  readonly mismatch: Mismatch;
  readonly hasMoreEntries: boolean;
  readonly hasMoreRecords: boolean;
  readonly isSearchWhole: boolean;
  readonly hasTransfer: boolean;
}

function sayMissing(entries: readonly EvidenceEntry[], known: Known): string[] {
  const count = (body: EvidenceEntry["body"]) => entries.filter((one) => one.body === body).length;
  const [deleted, neverKept] = [count("deleted"), count("never-kept")];
  const named = (number: number) => `${number} of ${entries.length} callbacks`;
  return [
    deleted > 0
      ? `The request bodies of ${named(deleted)} are deleted: they are older than retain.rawBodies. The ledger's entries of these callbacks are kept.`
      : null,
    neverKept > 0
      ? `The request bodies of ${named(neverKept)} were never kept: another program wrote these callbacks to the ledger.`
      : null,
    known.hasMoreEntries ? `There are more than ${MOST_EVENTS} callbacks; these are the first ones.` : null,
    known.hasMoreRecords
      ? `There are more than ${MOST_EVENTS} versions of records; these are the first ones.`
      : null,
    known.isSearchWhole
      ? null
      : `Refused requests were searched among the first ${MOST_SEARCHED} bodies of these times; there are more.`,
    known.mismatch.transactionRef !== null && !known.hasTransfer
      ? "The transfer and its answers are deleted."
      : null,
  ].filter((sentence) => sentence !== null);
}

function toText(amount: CallbackEntry["moved"]): string | null {
  return amount === null ? null : formatAmount(amount);
}
