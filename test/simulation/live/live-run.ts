/**
 * Plays in real time with the processes as shipped, a provider that lists late, corrects, moves, drops and stalls, and blows.
 * Only the planted mismatches may ever open, and all of them must.
 */

import { setTimeout as pause } from "node:timers/promises";
import { creditWallet } from "../../../src/callbacks/wallet-store.ts";
import { type Instant, systemClock } from "../../../src/clock.ts";
import { describeError } from "../../../src/errors.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { parseAmount } from "../../../src/money.ts";
import { createRandom, hashText } from "../../../src/sandbox/world/random.ts";
import { eventually } from "../../support/eventually.ts";
import { auditMoney } from "../callback-books.ts";
import { type CallbackScript, deliverScript, readScript } from "../callback-script.ts";
import { CallbackSender } from "../callback-sender.ts";
import { type Cost, readCost } from "./cost.ts";
import { describeFailure } from "./evidence.ts";
import { countFinders, judgeFinders } from "./finders.ts";
import { readHeard, readHistories } from "./history.ts";
import { auditLive, type LiveAudit } from "./live-audit.ts";
import type { LiveRunPlan } from "./live-plan.ts";
import { type LiveStage, openLiveStage } from "./live-stage.ts";
import { findRests } from "./statement.ts";
import { type Struck, strikeAll } from "./strike.ts";

export interface LiveRun extends LiveAudit {
  readonly seed: number;
  readonly cost: Cost;
  readonly kinds: Readonly<Record<string, number>>;
  /** what was played and what broke, in words */
  readonly summary: readonly string[];
  /** a block of lines for each fault */
  readonly problems: readonly string[];
}

/** More than all that a player ever stakes. */
const CREDIT = parseAmount("1e40", "credit");
const LEAD_MS = 500;
/** Until the last planted mismatch is open. Locks, leases and slots of a dead worker end sooner. */
const DEADLINE_MS = 300_000;
const LOOK_EVERY_MS = 250;
const TELL_EVERY_MS = 30_000;

/** @param report gets lines about the progress */
export async function runLive(plan: LiveRunPlan, report: (line: string) => void): Promise<LiveRun> {
  const stage = await openLiveStage(plan);
  try {
    const played = await play(stage, report);
    return await judge(stage, played);
  } finally {
    await stage.close();
  }
}

interface Played {
  readonly startsAt: Instant;
  readonly script: CallbackScript;
  readonly sender: CallbackSender;
  readonly struck: readonly Struck[];
  readonly latestMs: number;
  readonly problems: readonly string[];
}

/** Runs until everything planted is open and no mark waits, or until the deadline. */
async function play(stage: LiveStage, report: (line: string) => void): Promise<Played> {
  const { plan, sql, world, crews } = stage;
  await Promise.all([crews.worker.untilUp(), crews.callbacks.untilUp()]);
  // A round may be in another currency than its player's.
  const currencies = new Set(world.players.map(({ currency }) => currency));
  for (const { username } of world.players) {
    for (const currency of currencies) {
      const ref = `${username} ${currency}`;
      await creditWallet(sql, { username, currency, amount: CREDIT, ref }, systemClock.now());
    }
  }
  const startsAt = systemClock.now() + LEAD_MS;
  world.begin(startsAt);
  const planted = world.plantedBy(Number.POSITIVE_INFINITY);
  const script = readScript(world, planted);
  const sender = new CallbackSender(stage.callbacks, createRandom(hashText(`${plan.seed}|sender`)));
  report(
    `${world.rounds().length} rounds, ${script.requests.flat().length} callbacks, ${planted.length} planted`,
  );
  const watching = new AbortController();
  const watched = [watchVanishing(stage, watching.signal), reportProgress(stage, startsAt, watching, report)];
  const [struck, latestMs] = await Promise.all([
    strikeAll(stage, startsAt),
    deliverScript(script, sender, (entry) =>
      eventually("an entry is written", async () => {
        await appendEntries(sql, [entry]);
        return true;
      }),
    ),
  ]);
  await pause(Math.max(0, world.quietAt() - systemClock.now()));
  const problems: string[] = [];
  await eventually("all that is planted is open", () => isDone(stage), DEADLINE_MS).catch((error: unknown) =>
    problems.push(describeError(error)),
  );
  await pause(plan.calmMs);
  watching.abort();
  await Promise.all(watched);
  return { startsAt, script, sender, struck, latestMs, problems };
}

/** A record that will vanish must have been stored: it is listed until then. */
async function watchVanishing({ sql, world }: LiveStage, signal: AbortSignal): Promise<void> {
  let waiting = world
    .plantedBy(Number.POSITIVE_INFINITY)
    .filter(({ kind }) => kind === "vanished-at-provider");
  while (waiting.length > 0 && !signal.aborted) {
    const names = waiting.map(({ transactionId }) => transactionId ?? "");
    const rows = await sql<{ id: string; betId: string }[]>`
      select id, bet_id as "betId" from bet_records where id = any(${names}) or bet_id = any(${names})`.catch(
      // PostgreSQL restarts; the next reading comes later.
      () => [],
    );
    const stored = new Set(rows.flatMap(({ id, betId }) => [id, betId]));
    const isStored = ({ transactionId }: (typeof waiting)[number]) => stored.has(transactionId ?? "");
    for (const fault of waiting.filter(isStored)) world.keep(fault, systemClock.now());
    waiting = waiting.filter((fault) => !isStored(fault));
    await pause(LOOK_EVERY_MS);
  }
}

async function reportProgress(
  { sql }: LiveStage,
  startsAt: Instant,
  { signal }: AbortController,
  report: (line: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    await pause(TELL_EVERY_MS, undefined, { signal }).catch(() => {});
    const [row] = await sql<{ entries: number; open: number; over: number }[]>`
      select (select count(*) from callback_entries) as entries,
        (select count(*) from mismatches where status = 'open') as open,
        (select count(*) from mismatches where status = 'resolved') as over`.catch(() => []);
    const seconds = Math.round((systemClock.now() - startsAt) / 1000);
    if (row) report(`${seconds} s: ${row.entries} entries, ${row.open} open, ${row.over} resolved`);
  }
}

/** Everything planted is open. */
async function isDone(stage: LiveStage): Promise<boolean> {
  const { found, planted } = auditLive(await read(stage));
  return found === planted;
}

async function read({ sql, world, plan: { graces } }: LiveStage) {
  const [histories, heard] = await Promise.all([readHistories(sql), readHeard(sql)]);
  return { graces, histories, heard, rounds: world.rounds(), vanishedAt: world.vanishedAt };
}

async function judge(stage: LiveStage, played: Played): Promise<LiveRun> {
  const { plan, sql, crews, queries, environment } = stage;
  const { startsAt, script, sender, struck, latestMs } = played;
  const endedAt = systemClock.now();
  const singleState = new Map(
    plan.products.map(({ productId, style }) => [productId, style === "single-state"]),
  );
  const money = await auditMoney(sql, script, singleState, sender);
  const rests = await findRests(environment, { from: startsAt, to: endedAt }, stage.world.rounds());
  await stage.stop();
  const seen = await read(stage);
  const audit = auditLive(seen);
  const around = { sql, startsAt, heard: seen.heard, struck };
  const blocks: string[] = [];
  for (const failure of audit.failures) blocks.push((await describeFailure(failure, around)).join("\n"));
  const kinds: Record<string, number> = {};
  for (const { fault } of seen.rounds) if (fault !== null) kinds[fault.kind] = (kinds[fault.kind] ?? 0) + 1;
  const finders = await countFinders(sql, plan);
  return {
    ...audit,
    seed: plan.seed,
    kinds,
    cost: await readCost(sql, queries, endedAt - startsAt),
    summary: [
      `${plan.playedMs / 1000} s of play, ${seen.rounds.length} rounds, ${seen.heard.length} entries`,
      `${sender.unanswered} callbacks without an answer, ${sender.repeated} sent once more, ${sender.refused} refused; the latest came ${latestMs} ms late (callbackGrace is ${plan.graces.callbackGrace} ms)`,
      `results that changed unheard were found by ${JSON.stringify(finders)}`,
      struck.map(({ at, what }) => `${Math.round((at - startsAt) / 1000)} s: ${what}`).join("; "),
    ],
    problems: [
      ...blocks,
      ...played.problems,
      ...judgeFinders(finders, plan),
      ...sender.problems,
      ...money,
      ...rests,
      ...crews.worker.problems,
      ...crews.callbacks.problems,
    ],
  };
}
