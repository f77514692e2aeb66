/**
 * Plays a world through real callbacks to `recon callbacks`, and shows its records to `recon worker`. Both are real processes
 * that are killed. In the end the list must contain the planted faults, as if nothing had happened.
 */

import { setTimeout as pause } from "node:timers/promises";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { type Instant, systemClock } from "../../src/clock.ts";
import { describeError } from "../../src/errors.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { parseAmount } from "../../src/money.ts";
import { createRandom, hashText } from "../../src/sandbox/world/random.ts";
import { planWindows } from "../../src/sync/window-store.ts";
import { eventually } from "../support/eventually.ts";
import { type Audit, auditMismatches } from "./audit.ts";
import { auditMoney } from "./callback-books.ts";
import type { CallbackPlan } from "./callback-plan.ts";
import { deliverScript, readScript } from "./callback-script.ts";
import { CallbackSender } from "./callback-sender.ts";
import { type CallbackStage, openCallbackStage } from "./callback-stage.ts";
import { endLeases } from "./kill-run.ts";
import { readEverOpened } from "./run-seed.ts";
import type { SeedRun } from "./simulation.ts";

/** More than all that a player ever stakes. */
const CREDIT = parseAmount("1e40", "credit");
const LEAD_MS = 300;
/** The lock of a lost job ends sooner. */
const DEADLINE_MS = 300_000;
const LOOK_EVERY_MS = 100;
/** Longer than a comparison of hurried marks takes. */
const HURRY_EVERY_MS = 3_000;
/**
 * A callback that is later than this can look missing, because the graces are hardly longer. So can a bet whose record was
 * dated anew while nothing was pulled for longer than this.
 */
const LATE_MS = 2_500;

/** @param databaseUrl a migrated, empty database */
export async function runThroughCallbacks(plan: CallbackPlan, databaseUrl: string): Promise<SeedRun> {
  const stage = await openCallbackStage(plan, databaseUrl);
  try {
    const { summary, problems, since } = await play(plan, stage);
    await stage.stop();
    const { missed, wrong, ...audit } = auditMismatches(
      stage.planted,
      await readEverOpened(stage.sql, since),
    );
    return {
      ...audit,
      seed: plan.seed,
      kinds: countKinds(stage),
      summary,
      problems: [
        ...missed.map((fault) => `missed ${JSON.stringify(fault)}`),
        ...wrong.map((one) => `not planted ${JSON.stringify(one)}`),
        ...problems,
        ...stage.crews.worker.problems,
        ...stage.crews.callbacks.problems,
      ],
    };
  } finally {
    await stage.close();
  }
}

interface Played {
  readonly summary: string;
  readonly problems: readonly string[];
  /** earlier mismatches that are over were no false alarms: callbacks or pulling were later than the graces allow */
  readonly since: Instant;
}

/** Plays until the list is correct, or until the deadline. */
async function play(plan: CallbackPlan, stage: CallbackStage): Promise<Played> {
  const { sql, world, crews } = stage;
  await Promise.all([crews.worker.untilUp(), crews.callbacks.untilUp()]);
  for (const { username, currency } of stage.wallets) {
    const ref = `${username} ${currency}`;
    await creditWallet(sql, { username, currency, amount: CREDIT, ref }, systemClock.now());
  }
  const startsAt = systemClock.now() + LEAD_MS;
  world.start(startsAt);
  const script = readScript(world, stage.planted);
  const random = createRandom(hashText(`${plan.seed}|sender`));
  const sender = new CallbackSender(stage.callbacks, random);
  const watching = new AbortController();
  const watched = watchVanishing(stage, watching.signal).then(() =>
    sweepAgain(stage, startsAt, watching.signal),
  );
  const [outageMs, latestMs] = await Promise.all([
    strikeAll(plan, stage, startsAt),
    deliverScript(script, sender, (entry) => appendEntries(sql, [entry])),
  ]);
  const saidAt = Math.max(systemClock.now(), world.quietAt());
  await pause(Math.max(0, startsAt + plan.lastsMs - systemClock.now()));
  const problems: string[] = [];
  const hurried = hurryLooks(stage, watching.signal);
  await eventually("the list was the world's", () => isDone(stage), DEADLINE_MS).catch((error: unknown) =>
    problems.push(describeError(error)),
  );
  watching.abort();
  await Promise.all([watched, hurried]);
  problems.push(...(await auditMoney(sql, script, plan.singleState, sender)));
  const { unanswered, repeated, refused } = sender;
  const pauseMs = await longestPauseOfPulling(stage, startsAt);
  return {
    problems: [...sender.problems, ...problems],
    since: Math.max(outageMs, latestMs, pauseMs) > LATE_MS ? saidAt : 0,
    summary: [
      `${script.requests.flat().length} callbacks`,
      `${unanswered} times no answer`,
      `${repeated} sent once more`,
      `${refused} refused`,
      `${script.direct.length} entries written directly`,
      `${plan.blows.length} kills`,
      `the latest callback after ${latestMs} ms, the longest outage ${outageMs} ms, the longest pause of pulling ${pauseMs} ms, all after ${systemClock.now() - startsAt} ms`,
    ].join(", "),
  };
}

/** @returns how long the longest outage was, in milliseconds */
async function strikeAll(
  plan: CallbackPlan,
  { sql, crews }: CallbackStage,
  startsAt: Instant,
): Promise<number> {
  let longestMs = 0;
  const strike = async (who: "worker" | "callbacks") => {
    for (const { afterMs } of plan.blows.filter((blow) => blow.who === who)) {
      await pause(Math.max(0, startsAt + afterMs - systemClock.now()));
      const killedAt = systemClock.now();
      await crews[who].kill(0);
      // As if half a minute had passed: other processes may take over at once.
      if (who === "worker") await endLeases(sql);
      await crews[who].untilUp();
      longestMs = Math.max(longestMs, systemClock.now() - killedAt);
    }
  };
  await Promise.all([strike("worker"), strike("callbacks")]);
  return longestMs;
}

/** @returns for how long a product's newest time was not requested, in milliseconds */
async function longestPauseOfPulling({ sql }: CallbackStage, startsAt: Instant): Promise<number> {
  const [row] = await sql<{ pauseMs: number }[]>`
    select coalesce(max(extract(epoch from next_at - started_at) * 1000), 0)::integer as "pauseMs" from (
      select started_at, lead(started_at) over (partition by product_id order by started_at) as next_at
      from windows where kind = 'live' and started_at is not null
    ) pulled where next_at > ${startsAt}`;
  return row?.pauseMs ?? 0;
}

/** A record that will vanish must have been seen: it is shown until the worker has stored it. */
async function watchVanishing({ sql, planted, keep }: CallbackStage, signal: AbortSignal): Promise<void> {
  let waiting = planted.filter(({ kind }) => kind === "vanished-at-provider");
  while (waiting.length > 0 && !signal.aborted) {
    const rows = await sql<{ id: string; betId: string }[]>`select id, bet_id as "betId" from bet_records`;
    const names = new Set(rows.flatMap(({ id, betId }) => [id, betId]));
    const isKept = ({ transactionId }: (typeof waiting)[number]) => names.has(transactionId ?? "");
    for (const fault of waiting.filter(isKept)) keep(fault);
    waiting = waiting.filter((fault) => !isKept(fault));
    await pause(LOOK_EVERY_MS);
  }
}

/**
 * Fetches the time of the vanished records once more, as a later resweep does. On a slow machine the pass that stored a
 * record may be the last one that covers it.
 */
async function sweepAgain(
  { sql, world, planted }: CallbackStage,
  startsAt: Instant,
  signal: AbortSignal,
): Promise<void> {
  await pause(Math.max(0, world.quietAt() - systemClock.now()), undefined, { signal }).catch(() => {});
  if (signal.aborted) return;
  const products = planted.filter(({ kind }) => kind === "vanished-at-provider").map((one) => one.productId);
  const played = { from: startsAt, to: systemClock.now() };
  for (const productId of new Set(products)) await planWindows(sql, productId, "resweep", [played]);
}

/**
 * Marks are rescheduled for whole minutes: this lets those minutes pass. A comparison that comes too soon reschedules again.
 */
async function hurryLooks({ sql }: CallbackStage, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // Does not wait for a worker's locks: a worker that waits for this transaction would make a deadlock.
    await sql`
      update diff_marks set due_at = clock_timestamp() where ctid in (
        select ctid from diff_marks where due_at > clock_timestamp() for update skip locked)`;
    await pause(HURRY_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Only the planted faults are open, and no mark is left. */
async function isDone({ sql, planted }: CallbackStage): Promise<boolean> {
  const open = await readEverOpened(sql, systemClock.now());
  const { missed, wrong }: Audit = auditMismatches(planted, open);
  const due = await sql`select from diff_marks where due_at <= clock_timestamp() limit 1`;
  return missed.length === 0 && wrong.length === 0 && due.length === 0;
}

function countKinds({ planted }: CallbackStage): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const { kind } of planted) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return kinds;
}
