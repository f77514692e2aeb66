/** Records and entries that cannot be used, kept in view until they can be. */

import type { Instant } from "./clock.ts";

/** record: of the provider; entry: of the ledger */
export const REJECTED_SIDES = ["record", "entry"] as const;
export type RejectedSide = (typeof REJECTED_SIDES)[number];

/** unusable: there is no such record or entry; changed: the first content of the entry stays, this one was refused */
export const REJECTED_KINDS = ["unusable", "changed"] as const;
export type RejectedKind = (typeof REJECTED_KINDS)[number];

/** Names a row of either side. */
export interface RejectedRef {
  readonly side: RejectedSide;
  readonly row: number;
}

export const REJECTED_ID = /^(record|entry)-(\d{1,15})$/;

/** "record-12" */
export function formatRejectedId({ side, row }: RejectedRef): string {
  return `${side}-${row}`;
}

/** @returns null: the text is no such id */
export function parseRejectedId(text: string): RejectedRef | null {
  const [, side, row] = REJECTED_ID.exec(text) ?? [];
  return row === undefined ? null : { side: side === "record" ? "record" : "entry", row: Number(row) };
}

/** Which of them are meant; null fields do not filter. */
export interface RejectedChoice {
  readonly side: RejectedSide | null;
  readonly kind: RejectedKind | null;
  readonly productId: string | null;
  /** a part of the reason, in small or capital letters */
  readonly reason: string | null;
  /** first seen then or later */
  readonly since: Instant | null;
}

/** A row as lists show it. */
export interface RejectedRow {
  readonly row: number;
  readonly kind: RejectedKind;
  /** of a record: the product that was asked for; null: an entry that names none */
  readonly productId: string | null;
  /** null: of a record, or of a text that names none */
  readonly entryId: string | null;
  readonly reason: string;
  readonly firstSeenAt: Instant;
  /** the beginning of its text */
  readonly excerpt: string;
}

/** Lists show no more characters of a text or a reason. */
export const EXCERPT_CHARACTERS = 200;
export const REASON_CHARACTERS = 1_000;

/** A row with its whole text. */
export interface RejectedWhole extends Omit<RejectedRow, "excerpt"> {
  readonly raw: string;
}

/** Why a row stays rejected. */
export interface StayingRow {
  readonly row: number;
  readonly reason: string;
}

/** What became of rows that were read again. */
export interface RetriedRows {
  /** written as new or changed */
  readonly accepted: number;
  /** dropped, because the same or newer content is there */
  readonly known: number;
  readonly staying: readonly StayingRow[];
}
