/** Breaks the surroundings of a run in real time, as its plan says. */

import { setTimeout as pause } from "node:timers/promises";
import { type Instant, systemClock } from "../../../src/clock.ts";
import { endLeases } from "../kill-run.ts";
import type { Blow } from "./live-plan.ts";
import type { LiveStage } from "./live-stage.ts";

/** A blow that happened. */
export interface Struck {
  readonly at: Instant;
  /** in words, with the time until all was as before */
  readonly what: string;
}

/** Workers, callbacks servers and servers are struck side by side, each with one blow after another. */
export async function strikeAll(stage: LiveStage, startsAt: Instant): Promise<Struck[]> {
  const struck: Struck[] = [];
  const threads = [...Map.groupBy(stage.plan.blows, laneOf).values()].map(async (blows) => {
    for (const { afterMs, what } of blows) {
      await pause(Math.max(0, startsAt + afterMs - systemClock.now()));
      const at = systemClock.now();
      await strike(what, stage);
      struck.push({ at, what: `${describe(what)}, over after ${systemClock.now() - at} ms` });
    }
  });
  await Promise.all(threads);
  return struck.sort((a, b) => a.at - b.at);
}

function laneOf({ what }: Blow): string {
  return "who" in what ? what.who : "servers";
}

async function strike(what: Blow["what"], { plan, sql, crews, postgres, redis }: LiveStage): Promise<void> {
  switch (what.kind) {
    case "kill":
      await crews[what.who].kill(what.place);
      if (plan.endsLeases && what.who === "worker") await endLeases(sql);
      await crews[what.who].untilUp();
      return;
    case "stop":
      return await crews[what.who].halt(what.place, what.forMs);
    case "restart-postgres":
      return await postgres.restart(what.how);
    case "empty-redis":
      return await redis.empty();
    case "restart-redis":
      return await redis.restart();
  }
}

function describe(what: Blow["what"]): string {
  switch (what.kind) {
    case "kill":
      return `${what.who} killed`;
    case "stop":
      return `${what.who} stopped`;
    case "restart-postgres":
      return `PostgreSQL restarted (${what.how})`;
    case "empty-redis":
      return "Redis emptied";
    case "restart-redis":
      return "Redis restarted";
  }
}
