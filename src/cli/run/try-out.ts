/**
 * The stand-in provider of npm start and of recon sandbox, with players at play; for npm start also the operator's side
 * of their world.
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { TransferApi } from "../../agent-api.ts";
import { type Clock, formatInstant, type Instant } from "../../clock.ts";
import type { ProviderSettings } from "../../config.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { deliverCallbacks } from "../../flows/ledger/deliver-callbacks.ts";
import { sendTransfer } from "../../flows/verify/send-transfer.ts";
import type { GuideStep } from "../../ops/dashboard/overview/guide.ts";
import type { AnyFault } from "../../sandbox/faults/fault-list.ts";
import { type RangeHabits, USUAL_RANGES } from "../../sandbox/server/bet-endpoint.ts";
import { startSandbox } from "../../sandbox/server/server.ts";
import { openPlayLog } from "../../sandbox/world/play-log.ts";
import { createWorld, type World, type WorldPlan } from "../../sandbox/world/world.ts";
import type { TimeRange } from "../../window.ts";
import { EMBEDDED_HOME } from "./open.ts";
import { FIXED_PRODUCTS, TRY_OUT_HISTORY_MS, TRY_OUT_PRODUCTS, TRY_OUT_WALLET } from "./try-out-config.ts";

const LATE_DEPOSIT = "late-1003";

const DEPOSITS = [
  { username: "player-004", transactionRef: "deposit-1001", amount: "500.00" },
  { username: "player-011", transactionRef: "deposit-1002", amount: "1200.00" },
  { username: "player-007", transactionRef: LATE_DEPOSIT, amount: "800.00" },
] as const;

/** The provider books the late deposit after its rejection has become final (`tryOutConfig`). */
const LATE_BOOKING: AnyFault = {
  when: { endpoint: "deposit", ref: `^${LATE_DEPOSIT}$` },
  do: { kind: "late", delay: "PT20S" },
};

/** Sends what no earlier start has sent. An order without an answer is verified by the worker. */
export async function sendTryOutTransfers(
  context: FlowContext,
  provider: TransferApi,
  signal: AbortSignal,
): Promise<void> {
  for (const deposit of DEPOSITS) {
    const order = { ...deposit, productId: TRY_OUT_WALLET, currency: "THB" };
    try {
      await sendTransfer(context, provider, "DEPOSIT", order, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ReconError)) throw error;
      context.log.info({ code: error.code }, `${deposit.transactionRef}: ${error.message}`);
    }
  }
}

const AROUND_MS = 3_600_000;

/** The first three are shown in the terminal. @param stalled the time that cannot be fetched for a while */
function tryOutGuide(productId: string, stalled: TimeRange): readonly GuideStep[] {
  const hours = new URLSearchParams({
    product: productId,
    from: formatInstant(stalled.from - AROUND_MS),
    to: formatInstant(stalled.to + AROUND_MS),
  });
  return [
    { what: "What is wrong now: a fault of each kind, what it means and what to do", path: "/incidents" },
    {
      what: "A deposit that the provider rejected and booked afterwards",
      path: `/transfers/${LATE_DEPOSIT}`,
    },
    { what: "Yesterday's statement: both sides, and what explains their difference", path: "/report" },
    {
      what: `Some time of ${productId} that the provider does not report, with the reason`,
      path: `/coverage?${hours}`,
    },
    { what: "Two days in lines: money at risk, callbacks, records, delays", path: "/trends" },
  ];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Twelve faults in the world's past, the thirteenth six minutes after the first start. */
const FAULT_EVERY_MINUTES = 222;
/** A time within the fourth hour before the first start cannot be fetched, until some time after that start. */
const STALLED_PRODUCT = "SPORT";
const STALLED_FROM_MS = TRY_OUT_HISTORY_MS - 230 * MINUTE_MS;
const STALLED_LENGTH_MS = 15 * MINUTE_MS;
const STALLED_UNTIL_MS = TRY_OUT_HISTORY_MS + 20 * MINUTE_MS;
const WORLD_FOR_PEOPLE = {
  products: TRY_OUT_PRODUCTS,
  faultEveryMinutes: FAULT_EVERY_MINUTES,
  forDemo: true,
} as const;
const FIXED_WORLD = { products: FIXED_PRODUCTS, faultEveryMinutes: 5 } as const;
const PAGE_SIZE = 100;
/**
 * Both lags are much shorter than the graces of the try-out config, so that they cause no mismatch. A late settlement
 * causes none either: its bet is open on both sides.
 */
const LAGS = { lateSettlementMs: 60_000, callbackLagMs: 1_000, reportLagMs: 1_000 };
const STEP_MS = 1_000;

export interface TryOut {
  readonly provider: ProviderSettings;
  readonly seed: number;
  readonly begin: Instant;
  /** what a newcomer may look at first */
  readonly guide: readonly GuideStep[];
  stop(): Promise<void>;
}

/** Chooses the faults of a world, whose seed and begin are known only after its opening. */
export type FaultsOf = (world: { readonly seed: number; readonly begin: Instant }) => readonly AnyFault[];

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port */
  readonly port: number;
  readonly username?: string;
  /** default: random */
  readonly password?: string;
  /** default: what a newcomer is to see */
  readonly faultsOf?: FaultsOf;
  readonly ranges?: RangeHabits;
}

export interface TryOutOptions extends ServeOptions {
  /** null: of its own */
  readonly seed: number | null;
}

/**
 * Starts the provider and the play. When this returns, the ledger has every callback of the world so far.
 * @param context null: nothing writes the world's callbacks to a ledger
 */
export async function startTryOut(
  clock: Clock,
  context: FlowContext | null,
  options: TryOutOptions,
): Promise<TryOut> {
  const playLog = openPlayLog({
    path: join(EMBEDDED_HOME, "sandbox.json"),
    clock,
    historyMs: TRY_OUT_HISTORY_MS,
    ...(options.seed === null ? {} : { seed: options.seed }),
  });
  const { world, begin, tryOut } = await serve(clock, playLog, WORLD_FOR_PEOPLE, options);
  playLog.extend();
  const playing = await play(clock, context, world, begin, () => playLog.extend());
  const stop = async () => {
    await playing.stop();
    await tryOut.stop();
  };
  return { ...tryOut, stop };
}

/** Starts the provider of a world with a fixed period. The same seed and period always give the same world. */
export async function startFixedWorld(
  clock: Clock,
  play: { readonly seed: number; readonly period: TimeRange },
  options: ServeOptions,
): Promise<TryOut> {
  const { tryOut } = await serve(clock, { seed: play.seed, periods: [play.period] }, FIXED_WORLD, options);
  return tryOut;
}

async function serve(
  clock: Clock,
  { seed, periods }: { readonly seed: number; readonly periods: readonly TimeRange[] },
  played: Pick<WorldPlan, "products" | "faultEveryMinutes" | "forDemo">,
  options: ServeOptions,
): Promise<{ world: World; begin: Instant; tryOut: TryOut }> {
  const { host, port, faultsOf = firstRun, ranges = USUAL_RANGES } = options;
  const world = createWorld({ ...LAGS, ...played, seed, periods, players: 40 });
  const begin = periods[0]?.from ?? clock.now();
  const credentials = {
    username: options.username ?? "sandbox",
    password: options.password ?? randomBytes(12).toString("hex"),
  };
  const faults = faultsOf({ seed, begin });
  const server = await startSandbox({
    ...credentials,
    world,
    clock,
    host,
    port,
    pageSize: PAGE_SIZE,
    faults,
    ranges,
  });
  const provider = { baseUrl: server.url, ...credentials };
  const guide = tryOutGuide(STALLED_PRODUCT, stalledTime(begin));
  return { world, begin, tryOut: { provider, seed, begin, guide, stop: () => server.close() } };
}

/** Long ranges hang if they touch the world's second clock hour (UTC), so that a newcomer sees windows shrink and grow. */
export const slowHour: FaultsOf = ({ begin }) => [
  {
    when: { hoursUtc: [new Date(begin + HOUR_MS).getUTCHours()], longerThan: "PT20M" },
    do: { kind: "hang" },
  },
];

/** What a newcomer is to see: the slow hour, an hour that cannot be fetched for a while, and a deposit that is booked late. */
const firstRun: FaultsOf = (world) => {
  const { from, to } = stalledTime(world.begin);
  return [
    {
      when: {
        product: STALLED_PRODUCT,
        touches: [formatInstant(from), formatInstant(to)],
        between: [formatInstant(world.begin), formatInstant(world.begin + STALLED_UNTIL_MS)],
      },
      do: { kind: "code", code: 9, message: "the report of this hour is not ready" },
    },
    ...slowHour(world),
    LATE_BOOKING,
  ];
};

function stalledTime(begin: Instant): TimeRange {
  return { from: begin + STALLED_FROM_MS, to: begin + STALLED_FROM_MS + STALLED_LENGTH_MS };
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
        context?.log.warn(
          { error: describeError(error) },
          "the sandbox could not write its callbacks and retries",
        );
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
