/** `/health`: the progress of each kind of work, what holds it up, and what to do (docs/alerts.md#what-stands-still). */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { readHealth } from "../../../flows/read/read-health.ts";
import { endsInTime } from "../../../in-time.ts";
import type { OwnWorker } from "../../own-worker.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import type { ShownHealth } from "./render-health.ts";
import { renderHealth } from "./render-health.ts";
import { describeWork } from "./work-rows.ts";

/** The page is the place to look while the queues do not answer. */
const LONGEST_COUNT_MS = 2_000;

export function addHealthPage(
  pages: FastifyInstance,
  context: FlowContext,
  worker: OwnWorker | null,
  hasBoard: boolean,
): void {
  pages.get("/health", async (request, reply) => {
    const [health, jobs] = await Promise.all([readHealth(context), countJobs(worker)]);
    const rows = describeWork(health, context.config, worker);
    const when = { now: health.now, zone: zoneOf(request) };
    return await sendPage(request, reply, {
      title: "Health",
      path: "/health",
      main: renderHealth({ health, rows, jobs, hasBoard }, when),
      notice: takeNotice(request, reply),
      live: ["pull", "alerts", "rejected"],
    });
  });
}

/** @returns null if the queues do not answer in time */
async function countJobs(worker: OwnWorker | null): Promise<ShownHealth["jobs"]> {
  if (worker === null) return null;
  const counting = worker.countJobs().catch(() => null);
  return (await endsInTime(counting, LONGEST_COUNT_MS)) ? await counting : null;
}
