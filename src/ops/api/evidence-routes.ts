/** The evidence files over HTTP. */

import type { FastifyInstance, FastifyReply } from "fastify";
import pLimit from "p-limit";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { EVIDENCE, type EvidenceTarget, readEvidence } from "../../flows/read/read-evidence.ts";
import { TYPE_OF_FORMAT, writeEvidence } from "../evidence/evidence-file.ts";
import { EVIDENCE_QUERY, readEvidenceQuery } from "../input/evidence-query.ts";
import type { Typed } from "../input/fields.ts";
import { describeOperation } from "./operation.ts";

/** The most waiting files; the server refuses further ones. */
const MOST_WAITING = 10;

const READ = describeOperation({
  id: "readEvidence",
  summary: "one file for a dispute with the provider: both sides, callbacks and record versions as they came",
  query: EVIDENCE_QUERY,
  answers: { 200: EVIDENCE },
  also: ["text/html", "text/csv"],
});

/** One file at a time, so that files take at most one connection from other work. */
export function addEvidenceRoutes(api: FastifyInstance, context: FlowContext): void {
  const inTurn = pLimit(1);
  api.get<{ Querystring: Typed }>("/evidence", { schema: READ }, async ({ query }, reply) => {
    const { target, format } = readEvidenceQuery(query);
    if (inTurn.pendingCount >= MOST_WAITING) {
      const words = `${MOST_WAITING} evidence files are waiting already, which is the limit: the server makes one at a time. Try again in a minute, or use "recon evidence", which does not wait.`;
      throw new ReconError("too-many-reports", words, { retryable: true });
    }
    const evidence = await readWhileAwaited(reply, (signal) =>
      inTurn(() => readEvidence(context, target, signal)),
    );
    return await reply
      .type(TYPE_OF_FORMAT[format])
      .header("content-disposition", `attachment; filename="${nameOf(target)}.${format}"`)
      .send(writeEvidence(evidence, format));
  });
}

/** @throws ReconError `report-left` if the caller leaves */
async function readWhileAwaited<Value>(
  { raw }: FastifyReply,
  make: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const left = new AbortController();
  const leave = () => left.abort(new ReconError("report-left", "the caller of the evidence has left"));
  raw.once("close", leave);
  try {
    return await make(left.signal);
  } finally {
    raw.off("close", leave);
  }
}

/** "evidence-7", "evidence-7-and-3-more", "evidence-incident-2": made of digits only. */
function nameOf(target: EvidenceTarget): string {
  if ("incident" in target) {
    const part = target.part === null ? "" : `-part-${target.part}`;
    return `evidence-incident-${target.incident.replace(/\D/g, "")}${part}`;
  }
  const [first = "", ...others] = target.ids;
  return others.length === 0 ? `evidence-${first}` : `evidence-${first}-and-${others.length}-more`;
}
