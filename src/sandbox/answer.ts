/** What an endpoint can answer, and how that is written: the envelope of §4.B, with each digit of each amount. */

import { randomUUID } from "node:crypto";
import Big from "big.js";
import { stringify } from "lossless-json";
import { formatAmount } from "../money.ts";
import type { Delivery } from "./delivery.ts";
import type { FaultKind } from "./fault.ts";

/** The interface shows none but 0; any other is a failure. */
export const CODES = {
  success: 0,
  badRequest: 1,
  unknownProduct: 2,
  rangeTooLong: 3,
  badCursor: 4,
  unauthorized: 5,
  notFound: 6,
  internal: 7,
} as const;

/** Why a request is not answered with data. */
export interface Refusal {
  /** never 0 */
  readonly code: number;
  readonly message: string;
}

/** What comes of a request. */
export type Answer =
  | { readonly data: object }
  | { readonly refusal: Refusal }
  | { readonly fault: FaultKind; readonly delivery: Delivery };

export function refuse(code: number, message: string): { readonly refusal: Refusal } {
  return { refusal: { code, message } };
}

const amounts = {
  test: (value: unknown) => value instanceof Big,
  stringify: (value: unknown) => formatAmount(value as Big),
};

export function writeSuccess(data: object): string {
  return writeEnvelope({ code: CODES.success, message: "success", data });
}

export function writeRefusal({ code, message }: Refusal): string {
  return writeEnvelope({ code, message, data: null });
}

/** @param rest what of the envelope stands behind its reqId */
export function writeEnvelope(rest: object): string {
  return stringify({ reqId: randomUUID(), ...rest }, null, undefined, [amounts]) ?? "";
}
