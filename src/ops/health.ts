/** Health checks for orchestrators: whether the process is alive, and whether it can work. */

import type { FastifyInstance } from "fastify";
import { monotonicMs } from "../clock.ts";
import { LONGEST_PROOF_MS, proveWrite } from "../db/prove-write.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { endsInTime } from "../in-time.ts";
import { sendProblem } from "./http/problem.ts";

/** A little more than each check takes by itself. The answer comes within 15 seconds, even if a store hangs. */
const LONGEST_CHECK_MS = LONGEST_PROOF_MS + 2_000;
/** The time for which a result is used, because each check writes. */
const USED_MS = 1_000;

/**
 * `GET /healthz`, without any checks, and `GET /readyz`, which writes over the connections in use and names everything that
 * is wrong.
 * @param checkWork rejects if the worker's own connections cannot do what work needs
 */
export function addHealth(app: FastifyInstance, context: FlowContext, checkWork: () => Promise<void>): void {
  let last: { readonly at: number; readonly problems: Promise<string[]> } | null = null;
  const findProblems = async () => {
    const checks = await Promise.allSettled([
      inTime(proveWrite(context.sql), "database-unreachable", "the database"),
      inTime(checkWork(), "queue-unreachable", "the worker"),
    ]);
    const found = checks.flatMap((check) =>
      check.status === "rejected" ? describeError(check.reason).split("\n") : [],
    );
    // What is wrong with the database is wrong for each of its connections.
    return [...new Set(found)];
  };
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const at = monotonicMs();
    if (last === null || at - last.at >= USED_MS) last = { at, problems: findProblems() };
    const problems = await last.problems;
    if (problems.length > 0) return await sendProblem(reply, 503, "Service Unavailable", problems.join("; "));
    return { status: "ready" };
  });
}

async function inTime(check: Promise<unknown>, code: ErrorCode, what: string): Promise<void> {
  if (await endsInTime(check, LONGEST_CHECK_MS)) return;
  throw new ReconError(code, `${what} has not answered for ${LONGEST_CHECK_MS / 1000} s`);
}
