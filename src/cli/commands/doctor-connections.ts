/** The checks of `recon doctor` on connections: it opens one of each kind that work uses, and writes over it. */

import { openBackend } from "../../../jobs/backend.ts";
import { openPipelinedPool } from "../../db/pipelined-pool.ts";
import { hasQueues, PROOF, type Proof, proveWrite } from "../../db/prove-write.ts";
import { requireSessions } from "../../db/session.ts";
import { describeError, type ErrorCode, ReconError } from "../../errors.ts";
import type { OpenRecon } from "../run/open.ts";
import { LIMITS_LOST } from "../run/open.ts";
import type { CheckResult } from "./doctor-checks.ts";

/** PostgreSQL's code for a table that is not there. */
const NO_TABLE = "42P01";

export async function checkConnections(recon: OpenRecon): Promise<CheckResult> {
  const { context, people } = recon;
  try {
    await requireSessions(context.sql.options);
    const proofs = [await proveWrite(context.sql), await proveWrite(people.sql)];
    await writeAsCallbacksDo(recon);
    await writeAsQueuesDo(recon);
    return judgeLimits(proofs);
  } catch (error) {
    if (codeOf(error) === NO_TABLE)
      return { ok: true, found: "not checked before the migrations", mend: null };
    if (!(error instanceof ReconError)) throw error;
    return { ok: false, found: describeError(error), mend: MEND[error.code] ?? "correct DATABASE_URL" };
  }
}

const MEND: Partial<Record<ErrorCode, string>> = {
  "settings-invalid": "set pool_mode = session in the pooler, or give DATABASE_URL the address of PostgreSQL",
  "database-refuses-writes":
    "let the database accept writes, or point DATABASE_URL at the primary; work then resumes by itself",
  "database-unreachable": "correct what the message names",
};

function judgeLimits(proofs: readonly Proof[]): CheckResult {
  if (proofs.some(({ statementTimeout }) => statementTimeout === "0"))
    return {
      ok: false,
      found: LIMITS_LOST,
      mend: "alter role … set statement_timeout = '300s', then RECONNECT in the pooler's console",
    };
  const found = "a write succeeded over a connection of each kind: work, pages, callbacks, queues";
  return { ok: true, found, mend: null };
}

async function writeAsCallbacksDo({ context: { sql } }: OpenRecon): Promise<void> {
  const pipelined = openPipelinedPool(sql, []);
  try {
    await pipelined.run({ text: PROOF, values: [] });
  } finally {
    await pipelined.close();
  }
}

/** Queues in Redis have a check of their own. The first worker makes the tables of those in the database. */
async function writeAsQueuesDo({ settings, context, databaseUrl }: OpenRecon): Promise<void> {
  if (settings.redisUrl !== null || !(await hasQueues(context.sql))) return;
  const backend = openBackend(null, databaseUrl, context.log);
  try {
    await backend.check();
  } finally {
    await backend.close();
  }
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return cause?.code ?? code;
}
