/**
 * Claims on due transfers and top-ups: leases in PostgreSQL, so that workers share the work and decide nothing twice
 * (decision 31).
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { VerifyState } from "./decide.ts";
import {
  ANSWERS_OF,
  TABLE_OF,
  toVerification,
  type Verification,
  type VerificationRow,
  type VerifyKind,
  verificationColumns,
} from "./row-store.ts";
import type { KeptAnswer } from "./store.ts";

/** A claim expires this long after the worker last renewed it. */
export const CLAIM_SECONDS = 30;

/** A due transfer or top-up that no other worker asks for while the claim lasts. */
export interface Claim extends Verification {
  readonly token: string;
}

/** Claims due rows of some products: of each product at most `limit`, the most overdue first. */
export async function claimDue(
  sql: Query,
  kind: VerifyKind,
  due: {
    readonly now: Instant;
    readonly products: readonly { readonly productId: string; readonly limit: number }[];
  },
): Promise<Claim[]> {
  const table = sql(TABLE_OF[kind]);
  const rows = await sql<(VerificationRow & { leaseToken: string })[]>`
    with due as (
      select found.id
      from unnest(${due.products.map(({ productId }) => productId)}::text[],
        ${due.products.map(({ limit }) => limit)}::integer[]) as p (product_id, most)
      cross join lateral (
        select id from ${table} d
        where d.product_id = p.product_id and d.next_verify_at <= ${due.now}
          and (d.lease_until is null or d.lease_until <= clock_timestamp())
        order by d.next_verify_at
        limit p.most
        for update skip locked
      ) found
    )
    update ${table} t
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS})
    from due where t.id = due.id
    returning ${verificationColumns(sql, "t")}`;
  return rows
    .map((row) => ({ ...toVerification(kind, row), token: row.leaseToken }))
    .sort((a, b) => (a.state.nextVerifyAt ?? 0) - (b.state.nextVerifyAt ?? 0));
}

/** Renews claims. A lost claim stays lost, because another worker may have the row now. */
export async function renewClaims(
  sql: Query,
  kind: VerifyKind,
  claims: readonly Pick<Claim, "id" | "token">[],
): Promise<void> {
  await sql`
    update ${sql(TABLE_OF[kind])} t
    set lease_until = clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS})
    from unnest(${claims.map(({ id }) => id)}::bigint[], ${claims.map(({ token }) => token)}::uuid[]) as held (id, token)
    where t.id = held.id and t.lease_token = held.token`;
}

/** Releases claims without a question, so that the next worker can take them at once. */
export async function releaseClaims(
  sql: Query,
  kind: VerifyKind,
  claims: readonly Pick<Claim, "id" | "token">[],
): Promise<void> {
  await sql`
    update ${sql(TABLE_OF[kind])} t set lease_token = null, lease_until = null
    from unnest(${claims.map(({ id }) => id)}::bigint[], ${claims.map(({ token }) => token)}::uuid[]) as held (id, token)
    where t.id = held.id and t.lease_token = held.token`;
}

/** Releases claims that are not to be asked for before `until`. */
export async function postponeClaims(
  sql: Query,
  kind: VerifyKind,
  claims: readonly Pick<Claim, "id" | "token">[],
  until: Instant,
): Promise<void> {
  await sql`
    update ${sql(TABLE_OF[kind])} t
    set lease_token = null, lease_until = null, next_verify_at = greatest(t.next_verify_at, ${until})
    from unnest(${claims.map(({ id }) => id)}::bigint[], ${claims.map(({ token }) => token)}::uuid[]) as held (id, token)
    where t.id = held.id and t.lease_token = held.token`;
}

/** Of the answers that decided nothing, this many of the first and of the last are kept. */
const FIRST_KEPT = 20;
const LAST_KEPT = 20;

/**
 * Writes the state after an answer, and the answer, in one statement. The claim ends.
 * @throws ReconError `lease-lost` if another worker has the claim, or ops have closed the row meanwhile
 */
export async function writeAnswer(
  tx: Query,
  { kind, id, token }: Claim,
  state: VerifyState,
  kept: Omit<KeptAnswer, "attempt" | "status" | "nextVerifyAt">,
): Promise<void> {
  const answers = tx(ANSWERS_OF[kind]);
  const { attempts, status, nextVerifyAt } = state;
  const [row] = await tx<{ written: number }[]>`
    with written as (
      update ${tx(TABLE_OF[kind])}
      set status = ${status}, attempts = ${attempts}, next_verify_at = ${nextVerifyAt},
        decided_at = ${state.decidedAt}, failed_since = ${state.failedSince}, rejected_at = ${state.rejectedAt},
        mismatch_kind = ${state.mismatchKind}, lease_token = null, lease_until = null
      where id = ${id} and lease_token = ${token}
      returning id
    ),
    kept as (
      insert into ${answers} (of_id, attempt, asked_at, took_ms, says, code, message, raw, status, is_decisive,
        next_verify_at)
      select id, ${attempts}, ${kept.askedAt}::timestamptz, ${kept.tookMs}::integer, ${kept.says}, ${kept.code},
        ${kept.message}, ${kept.raw}, ${status}, ${kept.isDecisive}::boolean, ${nextVerifyAt}::timestamptz
      from written
    ),
    dropped as (
      delete from ${answers}
      where of_id in (select id from written) and attempt = ${attempts - LAST_KEPT} and attempt > ${FIRST_KEPT}
        and not is_decisive
    )
    select count(*) as written from written`;
  if (row?.written !== 1) {
    throw new ReconError(
      "lease-lost",
      `the claim on ${kind} ${id} was lost before its answer arrived; the answer is dropped`,
    );
  }
}

/** Who closed a row while its answer was under way, and when. */
export interface Closed {
  readonly by: string;
  readonly at: Instant;
}

/**
 * Keeps an answer that arrived after ops closed the row. Their decision stays (decision 103).
 * @returns null if the row is not closed, so another worker must have the claim
 */
export async function keepAfterClose(
  tx: Query,
  { kind, id }: Pick<Claim, "kind" | "id">,
  kept: Omit<KeptAnswer, "attempt" | "status" | "nextVerifyAt" | "isDecisive">,
): Promise<Closed | null> {
  const [row] = await tx<Closed[]>`
    with closed as (
      update ${tx(TABLE_OF[kind])} set attempts = attempts + 1
      where id = ${id} and closed_by is not null
      returning id, attempts, status, closed_by, decided_at
    ),
    kept as (
      insert into ${tx(ANSWERS_OF[kind])} (of_id, attempt, asked_at, took_ms, says, code, message, raw, status,
        is_decisive, next_verify_at)
      select id, attempts, ${kept.askedAt}::timestamptz, ${kept.tookMs}::integer, ${kept.says}, ${kept.code},
        ${kept.message}, ${kept.raw}, status, true, null
      from closed
    )
    select closed_by as by, decided_at as at from closed`;
  return row ?? null;
}
