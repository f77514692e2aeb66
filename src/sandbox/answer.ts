/** What an endpoint can answer, and how that is written: the envelope of §4.B, with each digit of each amount. */

import { randomUUID } from "node:crypto";
import Big from "big.js";
import { stringify } from "lossless-json";
import { formatAmount } from "../money.ts";
import type { Trouble } from "./trouble.ts";

/** The interface shows none but 0; any other is a failure. */
export const CODES = {
  success: 0,
  badRequest: 1,
  unknownProduct: 2,
  rangeTooLong: 3,
  badCursor: 4,
  unauthorized: 5,
  notFound: 6,
  tooSlow: 7,
  internal: 8,
} as const;

/** Why a request is not answered with data. */
export interface Refusal {
  /** never 0 */
  readonly code: number;
  readonly message: string;
}

/** What comes of a request; `trouble`: no answer, or none of this program's own. */
export type Answer =
  | { readonly data: object }
  | { readonly refusal: Refusal }
  | { readonly trouble: Trouble };

export function refuse(code: number, message: string): { readonly refusal: Refusal } {
  return { refusal: { code, message } };
}

const amounts = {
  test: (value: unknown) => value instanceof Big,
  stringify: (value: unknown) => formatAmount(value as Big),
};

export function writeSuccess(data: object): string {
  return write({ reqId: randomUUID(), code: CODES.success, message: "success", data });
}

export function writeRefusal({ code, message }: Refusal): string {
  return write({ reqId: randomUUID(), code, message, data: null });
}

function write(envelope: object): string {
  return stringify(envelope, null, undefined, [amounts]) ?? "";
}
