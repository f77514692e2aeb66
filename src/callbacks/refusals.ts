/** The wallet's answers to entries that the ledger's rules call impossible (docs/callbacks.md#answers). */

import type { Impossible } from "../ledger/apply-entry.ts";
import { CallbackRefusal } from "./status-code.ts";

const REFUSALS: Readonly<Record<Impossible, readonly [CallbackRefusal["statusCode"], string]>> = {
  "unknown-bet": [20001, "no bet of this id is known"],
  "unknown-round": [20001, "no bet of this round is known"],
  "not-placed": [20001, "no bet of this id was placed"],
  "placed-before": [20002, "the bet is placed already"],
  "other-currency": [20001, "the bet of this id is in another currency"],
  settled: [20004, "the bet is settled"],
  void: [20003, "the bet is void"],
  "round-settled": [20004, "no bet of this round is open, and one is settled"],
  "round-void": [20003, "every bet of this round is void"],
  "not-settled": [20001, "no bet was settled"],
  running: [20002, "the bet runs already"],
  repeated: [20002, "the same was applied before"],
  "same-stake": [20002, "the bet has this amount already"],
  tip: [20001, "this id belongs to a tip"],
  "no-tip": [20001, "this id belongs to a bet that is not a tip"],
};

export function refusalOf(impossible: Impossible): CallbackRefusal {
  return new CallbackRefusal(...REFUSALS[impossible]);
}
