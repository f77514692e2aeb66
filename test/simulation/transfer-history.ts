/**
 * Audits the way of each transfer and top-up to its end: nothing forgotten, nothing decided twice, nothing decided too early.
 */

import type { Instant } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import type { TransferPlan } from "./transfer-plan.ts";

interface Row {
  readonly ref: string;
  readonly status: string;
  readonly attempts: number;
  readonly sentAt: Instant;
  readonly handedAt: Instant;
  readonly nextVerifyAt: Instant | null;
  readonly decidedAt: Instant | null;
  readonly closedBy: string | null;
  readonly isHeld: boolean;
  readonly answers: readonly LoggedAnswer[];
}

interface LoggedAnswer {
  readonly attempt: number;
  readonly askedAt: Instant;
  readonly says: string;
  readonly status: string;
}

type Verify = TransferPlan["config"]["verify"];

/** One line for each broken promise. */
export async function findBrokenHistories(sql: Sql, { config, end }: TransferPlan): Promise<string[]> {
  const rows = [...(await readRows(sql, "transfers")), ...(await readRows(sql, "top_ups"))];
  const broken = rows.flatMap((row) =>
    [
      ...findForgotten(row, config.verify, end),
      ...findDecidedTwice(row),
      ...findDecidedEarly(row, config.verify),
    ].map((what) => `${row.ref}, ${row.status}: ${what}`),
  );
  return [...broken, ...(await findFlickering(sql))];
}

function findForgotten(row: Row, verify: Verify, end: Instant): string[] {
  const { status, nextVerifyAt, isHeld, closedBy, answers } = row;
  const problems: string[] = [];
  if (isHeld) problems.push("a worker still has it");
  if (status === "pending") problems.push("nothing was decided");
  if (nextVerifyAt !== null && nextVerifyAt <= end)
    problems.push("a question about it was due, and nobody asked");
  if (status === "inconclusive" && closedBy === null && nextVerifyAt === null) {
    problems.push("no further question about it is planned");
  }
  const rejectedAt = answers.find((one) => one.status === "rejected")?.askedAt;
  const lastAskedAt = answers.at(-1)?.askedAt ?? 0;
  const rechecked = (rejectedAt ?? 0) + Math.max(...verify.recheckRejectedAfter);
  if (status === "rejected" && lastAskedAt < rechecked) problems.push("its rejection was not checked again");
  return problems;
}

function findDecidedTwice({ status, attempts, answers, closedBy, decidedAt, nextVerifyAt }: Row): string[] {
  const problems: string[] = [];
  const last = answers.at(-1);
  if (last?.attempt !== attempts)
    problems.push(`${attempts} attempts, but the last answer is ${last?.attempt}`);
  if (last?.status !== status) problems.push(`its last answer made it ${last?.status}`);
  const entered = answers.filter((one, index) => one.status !== answers[index - 1]?.status);
  for (const decided of ["accepted", "rejected"]) {
    const times = entered.filter((one) => one.status === decided).length;
    if (times > 1) problems.push(`it became ${decided} ${times} times`);
  }
  const accepted = answers.findIndex((one) => one.status === "accepted");
  if (accepted >= 0 && accepted !== answers.length - 1)
    problems.push("the provider was asked about it after it was accepted");
  if (closedBy !== null && nextVerifyAt !== null)
    problems.push("it is closed, but a further question is planned");
  const isDecided = status === "accepted" || status === "rejected" || closedBy !== null;
  if (isDecided !== (decidedAt !== null)) problems.push("it does not say when it was decided");
  return problems;
}

function findDecidedEarly({ answers, sentAt, handedAt }: Row, verify: Verify): string[] {
  const problems: string[] = [];
  const rejected = answers.findIndex((one) => one.status === "rejected");
  if (rejected >= 0) {
    const failures = answers.slice(0, rejected + 1).filter((one) => one.says === "failed");
    const isLate = (failures.at(-1)?.askedAt ?? 0) >= sentAt + verify.rejectedFinalAfter;
    if (failures.length < 2 || !isLate)
      problems.push("a failure that was not repeated late enough rejected it");
  }
  const givenUp = answers.find((one) => one.status === "inconclusive");
  const mayGiveUp = givenUp?.says === "booked" || (givenUp?.askedAt ?? 0) >= handedAt + verify.giveUpAfter;
  if (givenUp !== undefined && !mayGiveUp) problems.push("it was given up too early");
  return problems;
}

/** A mismatch that opened and was resolved more than once. */
async function findFlickering(sql: Sql): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select m.kind || ' of ' || m.transaction_ref || ' has ' || count(*) || ' events' as text
    from mismatches m join mismatch_events e on e.mismatch_id = m.id
    group by m.id having count(*) > case m.status when 'open' then 1 else 2 end`;
  return rows.map(({ text }) => text);
}

/** Top-ups and transfers have tables with the same columns. */
async function readRows(sql: Sql, table: "transfers" | "top_ups"): Promise<Row[]> {
  const answers = sql(table === "transfers" ? "transfer_answers" : "top_up_answers");
  return await sql<Row[]>`
    select transaction_ref as ref, status, attempts, sent_at as "sentAt", handed_at as "handedAt",
      next_verify_at as "nextVerifyAt", decided_at as "decidedAt", closed_by as "closedBy",
      lease_token is not null as "isHeld",
      coalesce((select jsonb_agg(jsonb_build_object('attempt', attempt, 'says', says, 'status', status,
          'askedAt', (extract(epoch from asked_at) * 1000)::int8) order by attempt)
        from ${answers} a where a.of_id = t.id), '[]') as answers
    from ${sql(table)} t`;
}
