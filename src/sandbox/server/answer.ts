/** The possible answers of an endpoint, and their text: the envelope of §4.B, with every digit of every amount. */

import { randomUUID } from "node:crypto";
import Big from "big.js";
import { stringify } from "lossless-json";
import { formatAmount } from "../../money.ts";
import type { AgentFaultKind } from "../faults/agent-fault.ts";
import type { FaultKind } from "../faults/fault.ts";
import type { Delivery } from "./delivery.ts";

/** The interface shows only the code 0. Every other code is a failure. */
export const CODES = {
  success: 0,
  badRequest: 1,
  unknownProduct: 2,
  rangeTooLong: 3,
  badCursor: 4,
  unauthorized: 5,
  notFound: 6,
  internal: 7,
  duplicate: 8,
  balanceTooLow: 9,
  transactionNotFound: 5004,
} as const;

/** The reason for an answer without data. */
export interface SandboxRefusal {
  /** never 0 */
  readonly code: number;
  readonly message: string;
}

/** The result of a request. */
export type SandboxAnswer =
  | { readonly data: object }
  /** the whole answer as it is sent */
  | { readonly body: string; readonly refused: boolean }
  | { readonly refusal: SandboxRefusal }
  | { readonly fault: FaultKind | AgentFaultKind; readonly delivery: Delivery };

export function refuse(code: number, message: string): { readonly refusal: SandboxRefusal } {
  return { refusal: { code, message } };
}

const amounts = {
  test: (value: unknown) => value instanceof Big,
  stringify: (value: unknown) => formatAmount(value as Big),
};

export function writeSuccess(data: object): string {
  return writeEnvelope({ code: CODES.success, message: "success", data });
}

export function writeRefusal({ code, message }: SandboxRefusal): string {
  return writeEnvelope({ code, message, data: null });
}

/** @param rest the part of the envelope after the reqId */
export function writeEnvelope(rest: object): string {
  return writeBare({ reqId: randomUUID(), ...rest });
}

/** An envelope without a reqId (§4.B5). */
export function writeBare(rest: object): string {
  return stringify(rest, null, undefined, [amounts]) ?? "";
}
