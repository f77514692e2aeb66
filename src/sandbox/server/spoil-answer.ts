/** Applies a fault to the answer of a bet query: to its content, and to the sending of its bytes. */

import type { BetRecord } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import { type FaultAction, PLAIN_ACTIONS, type PlainAction } from "../faults/fault.ts";
import { CODES, writeEnvelope, writeRefusal, writeSuccess } from "./answer.ts";
import type { BetQuery } from "./bet-query.ts";
import type { Delivery } from "./delivery.ts";
import { type SpoiltChunk, spoilChunk } from "./spoil-chunk.ts";

/** A request with a fault. */
export interface StruckRequest {
  readonly query: BetQuery;
  /** every record of the query's range */
  records(): readonly BetRecord[];
  readonly pageSize: number;
  /** all products */
  readonly productIds: readonly string[];
  readonly now: Instant;
}

export function spoilAnswer(action: FaultAction, struck: StruckRequest): Delivery {
  const chunk = () => spoilChunk(action, { ...struck, records: struck.records() });
  const body = () => writeSuccess(chunk());
  switch (action.kind) {
    case "expired-cursor":
      return { way: "whole", body: writeRefusal({ code: CODES.badCursor, message: "nextId has expired" }) };
    case "wrong-envelope":
      return { way: "whole", body: writeWrongEnvelope(action.variant, chunk()) };
    default:
      return isPlain(action) ? spoilDelivery(action, body, struck.now) : { way: "whole", body: body() };
  }
}

const PLAIN_KINDS: ReadonlySet<string> = new Set(PLAIN_ACTIONS.map((action) => action.shape.kind.value));

/** Whether the fault is possible for any answer. */
export function isPlain<Action extends { readonly kind: string }>(
  action: Action,
): action is Action & PlainAction {
  return PLAIN_KINDS.has(action.kind);
}

/** @param body the answer without the fault */
export function spoilDelivery(action: PlainAction, body: () => string, now: Instant): Delivery {
  switch (action.kind) {
    case "hang":
    case "drop":
    case "drip":
      return { way: action.kind };
    case "cut-short":
      return { way: "cut-short", body: body() };
    case "slow":
      return { way: "late", afterMs: action.delay, body: body() };
    case "huge":
      return { way: "padded", megabytes: action.megabytes, body: body() };
    case "status":
      return refuseWithStatus(action, now);
    case "code":
      return { way: "whole", body: writeRefusal(action) };
    case "html":
      return { way: "whole", type: "text/html; charset=utf-8", body: MAINTENANCE };
    case "half-json": {
      const whole = body();
      return { way: "whole", body: whole.slice(0, whole.length / 2) };
    }
  }
}

const MAINTENANCE = `<!doctype html>
<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1></body></html>
`;

function refuseWithStatus(action: Extract<PlainAction, { kind: "status" }>, now: Instant): Delivery {
  const { status, retryAfter, retryAfterAs } = action;
  const body = writeRefusal({ code: CODES.internal, message: `a fault of the sandbox: HTTP ${status}` });
  if (retryAfter === undefined) return { way: "whole", status, body };
  const seconds = String(retryAfter);
  // Both by the sandbox's clock, which is not that of the machine.
  const date = new Date(now).toUTCString();
  const headers = { date, "retry-after": retryAfterAs === "seconds" ? seconds : httpDate(now, retryAfter) };
  return { way: "whole", status, headers, body };
}

/** An HTTP date has whole seconds, so this rounds up. */
function httpDate(now: Instant, seconds: number): string {
  return new Date((Math.ceil(now / 1000) + seconds) * 1000).toUTCString();
}

type WrongEnvelope = Extract<FaultAction, { kind: "wrong-envelope" }>["variant"];

function writeWrongEnvelope(variant: WrongEnvelope, chunk: SpoiltChunk): string {
  switch (variant) {
    case "no-code":
      return writeEnvelope({ message: "success", data: chunk });
    case "txns-not-array":
      return writeSuccess({ ...chunk, txns: { count: chunk.txns.length } });
    case "next-id-object":
      return writeSuccess({ ...chunk, nextId: { after: chunk.nextId ?? null } });
  }
}
