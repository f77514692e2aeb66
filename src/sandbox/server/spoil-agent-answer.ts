/** Applies a fault to an answer of the agent API: to its content, and to the sending of its bytes. */

import Big from "big.js";
import type { Instant } from "../../clock.ts";
import { type Amount, formatAmount, parseAmount } from "../../money.ts";
import type { AgentAction } from "../faults/agent-fault.ts";
import { CODES } from "./answer.ts";
import type { Delivery } from "./delivery.ts";
import { isPlain, spoilDelivery } from "./spoil-answer.ts";

/** An answer before it becomes text. */
export interface AgentOutcome {
  readonly code: number;
  readonly message: string;
  readonly data: object | null;
}

/** @param write makes the answer's text */
export function spoilAgentAnswer(
  action: AgentAction,
  outcome: AgentOutcome,
  write: (outcome: AgentOutcome) => string,
  now: Instant,
): Delivery {
  if (isPlain(action)) return spoilDelivery(action, () => write(outcome), now);
  switch (action.kind) {
    case "late":
      return { way: "drop" };
    case "no-code":
      return { way: "whole", body: write(outcome).replace(/"code":-?\d+,/, "") };
    case "denied":
      return { way: "whole", body: write(outcome) };
    case "not-found":
      return { way: "whole", body: write(NOT_FOUND) };
    case "url-list":
      return { way: "whole", body: write({ ...outcome, data: listUrls(outcome.data) }) };
    default:
      return { way: "whole", body: write({ ...outcome, data: spoilData(action, outcome.data) }) };
  }
}

const NOT_FOUND: AgentOutcome = {
  code: CODES.transactionNotFound,
  message: "Transaction not found",
  data: null,
};

/** A list of the address and a second address of the same game. */
function listUrls(data: object | null): object | null {
  if (data === null) return null;
  const { url } = data as { readonly url?: unknown };
  return { ...data, url: [url, `${String(url)}&mirror=1`] };
}

type DataAction = Extract<AgentAction, { kind: "wrong" | "missing" | "mistyped" | "several" | "negative" }>;

type Fields = Readonly<Record<string, unknown>>;

/** Changes the object of the answer, or the first object of a list. */
function spoilData(action: DataAction, data: object | null): object | null {
  if (data === null) return null;
  if (Array.isArray(data)) {
    const [first, ...rest] = data as Fields[];
    if (first === undefined) return data;
    if (action.kind === "several") return severalOf(first, action.items);
    return [spoilFields(action, first), ...rest];
  }
  const fields = data as Fields;
  const games = fields["games"];
  if (Array.isArray(games)) return { ...fields, games: spoilData(action, games) };
  return spoilFields(action, fields);
}

/** One id twice would be no certain answer, so the other items have ids of their own. */
function severalOf(first: Fields, items: number): Fields[] {
  const idOf = (place: number) => (place === 0 ? first["id"] : `${String(first["id"])}-${place + 1}`);
  return Array.from({ length: items }, (_, place) => ({ ...first, id: idOf(place) }));
}

function spoilFields(action: DataAction, fields: Fields): Fields {
  switch (action.kind) {
    case "wrong":
      return { ...fields, [action.field]: otherThan(action.field, fields[action.field]) };
    case "missing":
      return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== action.field));
    case "mistyped":
      return { ...fields, [action.field]: { is: "not what it should be" } };
    case "negative":
      return { ...fields, amount: (fields["amount"] as Amount).abs().neg() };
    case "several":
      return fields;
  }
}

/** @returns a different value of the same form */
function otherThan(name: string, value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (value instanceof Big) return value.plus("1");
  if (typeof value === "number") return value + 1;
  const text = String(value ?? "");
  if (name === "currency") return text === "XTS" ? "XXX" : "XTS";
  if (name === "type") return text === "TopUp" ? "Withdraw" : "TopUp";
  return /^-?\d+(\.\d+)?$/.test(text) ? formatAmount(parseAmount(text, name).plus("1")) : `invented-${text}`;
}
