/** All flows that verify, against a real provider over HTTP, with a clock that the test owns. */

import { beforeEach, onTestFinished } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import type { Sql } from "../../../src/db/client.ts";
import { readTransferStory, type TransferStory } from "../../../src/flows/read/read-transfer.ts";
import { openAskOutcome, type VerifyContext } from "../../../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../../../src/flows/verify/operate-transfers.ts";
import { verifyDue } from "../../../src/flows/verify/verify-due.ts";
import { silentLog } from "../../../src/log.ts";
import { MISMATCH_STATUSES } from "../../../src/mismatch.ts";
import { listMismatches } from "../../../src/mismatches/store.ts";
import { openBudget } from "../../../src/provider/budget.ts";
import { openProvider } from "../../../src/provider/client.ts";
import type { Transfer } from "../../../src/transfer.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables } from "../../support/database.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { CREDENTIALS } from "../../support/http-provider.ts";
import type { VerifyProvider } from "../../support/verify-provider.ts";
import { deposit } from "../../verify/sent.ts";

export interface VerifyWorld {
  readonly clock: TestClock;
  readonly config: Config;
  /** the context of one worker */
  context(options?: {
    readonly requestTimeoutMs?: number;
    readonly config?: Config;
    /** the slots of the request budget */
    readonly places?: number;
  }): VerifyContext;
  hand(...transfers: readonly Transfer[]): Promise<void>;
  /** Verifies the transfers and top-ups that are due at this time after noon. */
  verifyAt(afterMs: number, context?: VerifyContext): ReturnType<typeof verifyDue>;
  /** Moves the clock from question to question, up to this time after noon. */
  liveUntil(afterMs: number): Promise<void>;
  story(ref?: string): Promise<TransferStory>;
  /** "kind status amount" of every mismatch that ever existed */
  mismatches(): Promise<string[]>;
}

export function useVerifyWorld(sql: Sql, provider: VerifyProvider): VerifyWorld {
  const clock = createTestClock(NOON);
  const config = parseConfig({
    products: [{ productId: "P1", topUpPath: "p1_seamless" }, { productId: "P2" }],
  });
  beforeEach(async () => {
    clock.set(NOON);
    await emptyTables(sql);
  });
  const context: VerifyWorld["context"] = (options = {}) => {
    const { requestTimeoutMs = 60_000, places = 32 } = options;
    const limits = { requestTimeoutMs, connections: 32, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
    onTestFinished(() => client.close());
    // A wait for a slot is a wait for the database, which no test clock moves.
    const budget = openBudget(sql, { concurrency: places, minIntervalMs: 0 }, requestTimeoutMs, systemClock);
    const base = { sql, clock, log: silentLog, config: options.config ?? config };
    return { ...base, ask: openAskOutcome(client, budget, base) };
  };
  const verifyAt: VerifyWorld["verifyAt"] = (afterMs, given = context()) => {
    clock.set(NOON + afterMs);
    return verifyDue(given, new AbortController().signal);
  };
  const story: VerifyWorld["story"] = (ref = "ref-1") =>
    readTransferStory(context(), { ref, kind: null, productId: null, username: null });
  return {
    clock,
    config,
    context,
    verifyAt,
    story,
    hand: async (...transfers) => {
      const given = transfers.length === 0 ? [deposit()] : transfers;
      await handOverTransfers(
        context(),
        given.map((transfer) => ({ transfer, label: "" })),
      );
    },
    liveUntil: async (afterMs) => {
      const one = context();
      for (;;) {
        const [row] = await sql<{ next: number | null }[]>`
          select least((select min(next_verify_at) from transfers), (select min(next_verify_at) from top_ups)) as next`;
        const next = row?.next ?? null;
        if (next === null || next > NOON + afterMs) break;
        await verifyAt(Math.max(next, clock.now()) - NOON, one);
      }
      clock.set(NOON + afterMs);
    },
    mismatches: async () => {
      const filter = { statuses: MISMATCH_STATUSES, kind: null, productId: null, username: null };
      const { mismatches } = await listMismatches(sql, { ...filter, limit: 100, after: null });
      return mismatches.map((one) => `${one.kind} ${one.status} ${one.amountAtRisk}`);
    },
  };
}

export const DAY_MS = 24 * HOUR_MS;
