/** Plays a seed of transfers: real PostgreSQL, real HTTP to the sandbox, and a clock that the simulation owns. */

import type { Instant } from "../../src/clock.ts";
import type { AgentBooks } from "../../src/sandbox/server/agent-endpoints.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { createMovingClock, type TestClock } from "../support/clock.ts";
import { tapRequests } from "./request-tap.ts";
import type { SeedRun } from "./simulation.ts";
import { auditTransfers } from "./transfer-audit.ts";
import { bookTopUp, closeUnknown, fundPlayers, handOver, keepEntry, send } from "./transfer-operator.ts";
import { type PlannedMove, planTransfers, type TransferPlan, tickAt } from "./transfer-plan.ts";
import {
  CREDENTIALS,
  countBlows,
  endLeases,
  type Surroundings,
  startVerifyWorker,
  type VerifyWorker,
} from "./transfer-worker.ts";

/** @param databaseUrl a migrated, empty database */
export async function runTransfers(seed: number, databaseUrl: string): Promise<SeedRun> {
  const plan = planTransfers(seed);
  const clock = createMovingClock(plan.begin, seed);
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world: createWorld(plan.world),
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 10,
    faults: plan.faults,
  });
  const tap = await tapRequests(sandbox.url);
  const crew = startCrew(plan, { databaseUrl, providerUrl: tap.url, config: plan.config, clock });
  try {
    fundPlayers(sandbox.books, plan.moves);
    const { runs, problems } = await play(plan, clock, crew, sandbox.books);
    const audit = await auditTransfers(crew.worker().context.sql, plan, sandbox.books, tap.sendings());
    const summary = `${plan.moves.length} transfers and top-ups, ${runs} runs, ${crew.describe()}`;
    return { ...audit, seed, summary, problems: [...problems, ...audit.problems] };
  } finally {
    await crew.stop();
    await tap.close();
    await sandbox.close();
  }
}

interface Crew {
  /** a living worker */
  worker(): VerifyWorker;
  /** Runs all workers once, side by side; killed ones are started again. */
  run(): Promise<void>;
  /** what happened to the workers, in words */
  describe(): string;
  stop(): Promise<void>;
}

/** The claims of a killed worker stay for this many runs. */
const RUNS_UNTIL_LEASE_ENDS = 2;

function startCrew({ workers, blows, restartEvery }: TransferPlan, surroundings: Surroundings): Crew {
  const counted = countBlows(blows);
  const start = () => startVerifyWorker(surroundings, counted);
  const crew = Array.from({ length: workers }, start);
  const counts = { runs: 0, killed: 0, restarted: 0 };
  let killedAt = 0;
  const restart = async (index: number) => {
    await crew[index]?.stop();
    crew[index] = start();
  };
  return {
    worker: () => crew[0] as VerifyWorker,
    run: async () => {
      counts.runs += 1;
      const [first] = crew;
      if (first && counts.runs === killedAt + RUNS_UNTIL_LEASE_ENDS) await endLeases(first.context.sql, null);
      const alive = await Promise.all(crew.map((worker) => worker.verify()));
      for (const [index, isAlive] of alive.entries()) {
        if (isAlive && counts.runs % restartEvery !== index) continue;
        counts[isAlive ? "restarted" : "killed"] += 1;
        if (!isAlive) killedAt = counts.runs;
        await restart(index);
      }
    },
    describe: () =>
      `${workers} workers at a time, killed ${counts.killed} and restarted ${counts.restarted} times`,
    stop: async () => {
      await Promise.all(crew.map((worker) => worker.stop()));
    },
  };
}

/** Goes from one moment at which something happens or is due to the next. */
async function play(plan: TransferPlan, clock: TestClock, crew: Crew, books: AgentBooks) {
  const events = eventsOf(plan, crew, books);
  const problems: string[] = [];
  let runs = 0;
  while (clock.now() < plan.end) {
    const now = clock.now();
    const next = Math.min(events[0]?.at ?? plan.end, (await nextDue(crew.worker())) ?? plan.end);
    const runAt = Math.min(plan.end, Math.max(next, now + tickAt(plan, now)));
    for (let event = events[0]; event !== undefined && event.at <= runAt; event = events[0]) {
      clock.set(event.at);
      problems.push(...(await event.happen()));
      events.shift();
    }
    clock.set(runAt);
    await crew.run();
    await closeUnknown(plan.moves, crew.worker());
    runs += 1;
  }
  return { runs, problems };
}

interface PlannedEvent {
  readonly at: Instant;
  happen(): Promise<string[]>;
}

function eventsOf({ moves }: TransferPlan, crew: Crew, books: AgentBooks): PlannedEvent[] {
  const events = moves.flatMap((move) => (move.fate.of === "top-up" ? ofTopUp(move) : ofTransfer(move)));
  return events.sort((a, b) => a.at - b.at);

  function ofTransfer(move: PlannedMove): PlannedEvent[] {
    const { sent, fate, isHandedOver, handedAt } = move;
    const sending = { at: sent.sentAt, happen: () => send(move, crew.worker()) };
    const handing = { at: handedAt, happen: () => handOver(move, crew.worker()) };
    return [...(fate.isUnsent ? [] : [sending]), ...(isHandedOver ? [handing] : [])];
  }

  function ofTopUp(move: PlannedMove): PlannedEvent[] {
    const { sent, fate, handedAt } = move;
    const keeping = async () => {
      await keepEntry(move, crew.worker());
      return [];
    };
    const booking = async () => {
      bookTopUp(move, books);
      return [];
    };
    const booked = { at: sent.sentAt + fate.bookedAfterMs, happen: booking };
    return [...(fate.isUnsent ? [] : [booked]), { at: handedAt, happen: keeping }];
  }
}

async function nextDue({ context }: VerifyWorker): Promise<Instant | null> {
  const [row] = await context.sql<{ next: Instant | null }[]>`
    select least((select min(next_verify_at) from transfers), (select min(next_verify_at) from top_ups)) as next`;
  return row?.next ?? null;
}
