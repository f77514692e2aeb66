/** The plan of a seed in a run with transfers: what is sent when, the outcome of each, and what happens to the workers. */

import type { Instant } from "../../src/clock.ts";
import { type Config, parseConfig } from "../../src/config-file.ts";
import { type Amount, parseAmount } from "../../src/money.ts";
import type { AgentFault } from "../../src/sandbox/faults/agent-fault.ts";
import { createRandom, hashText, type Random } from "../../src/sandbox/world/random.ts";
import type { WorldPlan } from "../../src/sandbox/world/world-plan.ts";
import type { TopUp, Transfer } from "../../src/transfer.ts";
import { BEGINS } from "./seed-plan.ts";
import { drawFates, type Fate, MINUTE_MS } from "./transfer-fates.ts";

const HOUR_MS = 60 * MINUTE_MS;
const BEGIN = Date.parse("2026-05-01T00:00:00Z");

/** How long transfers are sent, and the longest delay of handing one over. */
const SENT_MS = 30 * MINUTE_MS;
const LATE_MS = 5 * MINUTE_MS;
/** By then each was asked about once, and those with another value not yet twice. */
const BUSY_MS = SENT_MS + LATE_MS + 10 * MINUTE_MS;
/** The shortest time between two runs, while much happens and afterwards. */
const BUSY_TICK_MS = 30_000;
const LATER_TICK_MS = 20 * MINUTE_MS;

/** One transfer or top-up, as the operator has recorded it. */
export interface PlannedMove {
  readonly fate: Fate;
  readonly sent: Transfer | TopUp;
  /** sent and recorded in one call, or sent by the operator alone and handed over later */
  readonly isHandedOver: boolean;
  /** when the worker gets it: `sentAt`, or some minutes later */
  readonly handedAt: Instant;
}

/** What happens to a worker in the middle of verifying. */
export interface Blow {
  readonly kind: "killed" | "overtaken";
  /** strikes after this question, counted over the run */
  readonly atQuestion: number;
}

export interface TransferPlan {
  readonly seed: number;
  readonly begin: Instant;
  readonly end: Instant;
  readonly workers: 1 | 2;
  readonly config: Config;
  readonly world: WorldPlan;
  readonly faults: readonly AgentFault[];
  readonly moves: readonly PlannedMove[];
  readonly blows: readonly Blow[];
  /** the workers are restarted after this many runs */
  readonly restartEvery: number;
}

/** One seed in four has the default settings, which take days. */
const QUICK = {
  delays: ["PT20S", "PT1M", "PT10M", "PT30M"],
  rejectedFinalAfter: "PT10M",
  recheckRejectedAfter: ["PT45M", "PT3H"],
  giveUpAfter: "PT6H",
};

/** Each seed plays at another time of another day. */
export function planTransfers(seed: number): TransferPlan {
  const random = createRandom(hashText(`${seed}|transfers`));
  const begin = BEGIN + (seed % BEGINS) * 31 * HOUR_MS + (seed % 7) * 13 * MINUTE_MS;
  const config = parseConfig({
    products: [
      { productId: "P1", walletMode: "transfer" },
      { productId: "P2", walletMode: "transfer" },
      { productId: "FISH", topUpPath: "FISH_seamless" },
    ],
    pull: { requestTimeout: "PT0.4S" },
    verify: seed % 4 === 0 ? {} : { ...QUICK, concurrency: random.pick([2, 4, 8]) },
  });
  const { verify } = config;
  const fates = drawFates(random, { verify, busy: { from: begin, to: begin + BUSY_MS } });
  const lastRecheck = Math.max(...verify.recheckRejectedAfter);
  return {
    seed,
    begin,
    // The last certain outcome comes three hours after the last transfer is given up; then its rechecks follow.
    end: begin + BUSY_MS + verify.giveUpAfter + lastRecheck + 5 * HOUR_MS,
    workers: random.oneIn(2) ? 2 : 1,
    config,
    world: planWorld(seed, config),
    faults: fates.flatMap(({ faults }) => faults),
    moves: fates.map((fate, index) => planMove(random, fate, begin, `${fate.name}:${seed}-${index}`)),
    blows: planBlows(random),
    restartEvery: random.between(5, 15),
  };
}

/** The shortest time from one run to the next. */
export function tickAt({ begin, config }: TransferPlan, now: Instant): number {
  const busyUntil = begin + BUSY_MS + config.verify.rejectedFinalAfter + 45 * MINUTE_MS;
  return now < busyUntil ? BUSY_TICK_MS : LATER_TICK_MS;
}

/** No rounds are played: only the transfers move money. */
function planWorld(seed: number, config: Config): WorldPlan {
  const products = config.products.map(({ productId }) => productId);
  return {
    seed,
    periods: [],
    products: products.map((productId) => ({ productId, style: "slot", roundsPerMinute: 0 })),
    players: 1,
    lateSettlementMs: MINUTE_MS,
    callbackLagMs: MINUTE_MS,
    reportLagMs: MINUTE_MS,
    faultEveryMinutes: 0,
  };
}

function planMove(random: Random, fate: Fate, begin: Instant, transactionRef: string): PlannedMove {
  const sentAt = begin + random.below(SENT_MS);
  const isTopUp = fate.of === "top-up";
  // Only a record of a transfer that the operator sent by itself can differ from what was sent.
  const isHandedOver = isTopUp || fate.isUnsent || fate.slip !== null || random.oneIn(3);
  const sent = {
    transactionRef,
    productId: isTopUp ? "FISH" : random.pick(["P1", "P2"]),
    username: fate.isBeyondBalance ? "poor" : `player-${random.below(5)}`,
    currency: fate.slip === "currency" ? "USD" : "THB",
    amount: drawAmount(random),
    sentAt,
  };
  const types = isTopUp ? (["DEBIT", "CREDIT"] as const) : (["DEPOSIT", "WITHDRAW"] as const);
  const type = fate.isBeyondBalance ? "WITHDRAW" : random.pick([...types]);
  const handedAt = isHandedOver ? sentAt + random.below(LATE_MS) : sentAt;
  return { fate, sent: { ...sent, type } as Transfer | TopUp, isHandedOver, handedAt };
}

function drawAmount(random: Random): Amount {
  const text = `${random.between(1, 9_999)}.${random.below(10)}${random.below(10)}`;
  return parseAmount(text, "amount");
}

function planBlows(random: Random): Blow[] {
  let atQuestion = 0;
  return Array.from({ length: 6 }, (_, index): Blow => {
    atQuestion += random.between(1, 40);
    return { kind: index % 2 === 0 ? "killed" : "overtaken", atQuestion };
  });
}
