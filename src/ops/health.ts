/** Health checks for orchestrators: whether the process is alive, and whether it can work. */

import type { FastifyInstance } from "fastify";
import { checkDatabase } from "../db/client.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { endsInTime } from "../in-time.ts";
import { sendProblem } from "./http/problem.ts";

/** The longest wait for an answer; a slower service counts as down. */
const LONGEST_CHECK_MS = 3_000;

/** `GET /healthz`, without any checks, and `GET /readyz`, which names everything that is down. */
export function addHealth(app: FastifyInstance, context: FlowContext, checkQueue: () => Promise<void>): void {
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const checks = await Promise.allSettled([
      inTime(checkDatabase(context.sql), "database-unreachable", "the database"),
      inTime(checkQueue(), "queue-unreachable", "the queue"),
    ]);
    const down = checks.flatMap((check) =>
      check.status === "rejected" ? [describeError(check.reason)] : [],
    );
    if (down.length > 0) return await sendProblem(reply, 503, "Service Unavailable", down.join("; "));
    return { status: "ready" };
  });
}

async function inTime(check: Promise<void>, code: ErrorCode, what: string): Promise<void> {
  if (await endsInTime(check, LONGEST_CHECK_MS)) return;
  throw new ReconError(code, `${what} has not answered for ${LONGEST_CHECK_MS / 1000} s`);
}
