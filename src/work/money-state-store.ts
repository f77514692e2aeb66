/** The sums of money that workers have measured, in PostgreSQL: workers write them, all processes read them. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { Measured, MoneySeen } from "../money-outside.ts";

export async function writeMoneyState<Name extends keyof MoneySeen>(
  sql: Query,
  name: Name,
  settings: string,
  { measuredAt, tookMs, content }: NonNullable<MoneySeen[Name]>,
): Promise<void> {
  await sql`
    insert into money_states (name, measured_at, took_ms, settings, content)
    values (${name}, ${measuredAt}, ${Math.round(tookMs)}, ${settings}, ${JSON.stringify(content)}::text::jsonb)
    on conflict (name) do update set measured_at = excluded.measured_at, took_ms = excluded.took_ms,
      settings = excluded.settings, content = excluded.content`;
}

/** The measurements that were made with these settings. A measurement with other settings says nothing about these. */
export async function readMoneyStates(sql: Query, settings: string): Promise<MoneySeen> {
  const rows = await sql<(Measured<never> & { readonly name: keyof MoneySeen })[]>`
    select name, measured_at as "measuredAt", took_ms as "tookMs", content from money_states
    where settings = ${settings}`;
  const stateOf = (wanted: keyof MoneySeen) => {
    const found = rows.find(({ name }) => name === wanted);
    return found === undefined
      ? null
      : { measuredAt: found.measuredAt as Instant, tookMs: found.tookMs, content: found.content };
  };
  return { outside: stateOf("outside"), sums: stateOf("sums") };
}
