/** The sandbox of an embedded start: a provider with players at play, and the operator's side of their world. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Clock, Instant } from "../clock.ts";
import type { ProviderSettings } from "../config.ts";
import { describeError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { deliverCallbacks } from "../flows/deliver-callbacks.ts";
import { openDiary } from "../sandbox/diary.ts";
import { type Sandbox, startSandbox } from "../sandbox/server.ts";
import { createWorld, type World } from "../sandbox/world.ts";
import { EMBEDDED_HOME } from "./open.ts";
import { TRY_OUT_HISTORY_MS, TRY_OUT_PRODUCTS } from "./try-out-config.ts";

const HOUR_MS = 3_600_000;
/** Short against the graces of the try-out config: nothing of these delays may look like a mismatch. */
const LAGS = { lateSettlementMs: 60_000, callbackLagMs: 1_000, reportLagMs: 1_000 };
const STEP_MS = 1_000;

export interface TryOut {
  readonly provider: ProviderSettings;
  readonly seed: number;
  stop(): Promise<void>;
}

export interface TryOutOptions {
  readonly host: string;
  /** 0: any free port */
  readonly port: number;
  readonly seed: number | null;
}

/**
 * Starts the provider, and plays: every callback of the world so far is in the ledger when this returns.
 * @param context null: the world's callbacks are not written to a ledger
 */
export async function startTryOut(
  clock: Clock,
  context: FlowContext | null,
  options: TryOutOptions,
): Promise<TryOut> {
  const diary = openDiary({
    path: join(EMBEDDED_HOME, "sandbox.json"),
    clock,
    historyMs: TRY_OUT_HISTORY_MS,
    ...(options.seed === null ? {} : { seed: options.seed }),
  });
  const world = createWorld({
    ...LAGS,
    seed: diary.seed,
    periods: diary.periods,
    products: TRY_OUT_PRODUCTS,
    players: 40,
    faultEveryMinutes: 5,
  });
  const begin = diary.periods[0]?.from ?? clock.now();
  const credentials = { username: "sandbox", password: randomBytes(12).toString("hex") };
  const server = await startSandbox({
    ...credentials,
    world,
    clock,
    host: options.host,
    port: options.port,
    pageSize: 100,
    slowness: { slowHoursUtc: [slowHour(begin)], longestMs: 20 * 60_000, answer: "hang" },
  });
  diary.extend();
  const playing = await play(clock, context, world, begin, () => diary.extend());
  return {
    provider: { baseUrl: server.url, ...credentials },
    seed: diary.seed,
    stop: () => stopBoth(playing, server),
  };
}

/** The hour after the first whole one: the newcomer sees windows shrink, and grow back. */
function slowHour(begin: Instant): number {
  return new Date(begin + HOUR_MS).getUTCHours();
}

interface Playing {
  stop(): Promise<void>;
}

async function play(
  clock: Clock,
  context: FlowContext | null,
  world: World,
  begin: Instant,
  extend: () => void,
): Promise<Playing> {
  const ending = new AbortController();
  const deliver = async () => {
    if (context !== null) await deliverCallbacks(context, world, begin, clock.now());
  };
  await deliver();
  const loop = (async () => {
    while (!ending.signal.aborted) {
      await clock.sleep(STEP_MS, ending.signal);
      if (ending.signal.aborted) return;
      try {
        extend();
        await deliver();
      } catch (error) {
        context?.log.warn({ error: describeError(error) }, "the sandbox could not write its callbacks; it tries again");
      }
    }
  })();
  return {
    stop: async () => {
      ending.abort();
      await loop;
    },
  };
}

async function stopBoth(playing: Playing, server: Sandbox): Promise<void> {
  await playing.stop();
  await server.close();
}
