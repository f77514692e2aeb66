/** Compares what the closed days say with what their bets count for, in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { UnexplainedRest } from "../closed.ts";
import type { Query } from "../db/client.ts";
import { LINES_AS_CLOSED } from "./closed-bet-store.ts";

/** A sum that differs: of one product and currency of a closed day. */
export interface UnequalSum {
  readonly day: string;
  /** the beginning of the day */
  readonly from: Instant;
  readonly productId: string;
  readonly currency: string;
  /** such as "provider payout" */
  readonly figure: string;
  /** the statement with its corrections: decimal text */
  readonly stated: string;
  /** the sum of `closed_bets`: decimal text */
  readonly ofBets: string;
}

const SIDES = ["bets", "stake", "payout", "net"] as const;
const EXPLAINED = ["mismatches", "adjustments", "pending", "rounding", "outside"] as const;

interface Figure {
  /** its path in the JSON */
  readonly path: string;
  /** SQL of its sum over `closed_bets` */
  readonly sum: string;
  /** the path of a figure that stands for it in statements of older versions */
  readonly otherwise?: string;
}

const FIGURES: readonly Figure[] = [
  ...SIDES.map((field) => ({ path: `{provider,${field}}`, sum: `sum(provider_${field})` })),
  // A ledger column is null if it equals the provider's.
  ...SIDES.map((field) => ({
    path: `{ledger,${field}}`,
    sum: `sum(coalesce(ledger_${field}, provider_${field}))`,
  })),
  ...EXPLAINED.map((field) => ({ path: `{${field}}`, sum: `coalesce(sum(${field}), 0)` })),
  {
    path: "{ledger,moved}",
    sum: "sum(coalesce(ledger_moved, ledger_net, provider_net))",
    otherwise: "{ledger,net}",
  },
  // Days that an older version closed say neither, and neither do their bets: both sums are 0.
  ...["rewards", "tips"].map((field) => ({
    path: `{ledger,${field}}`,
    sum: `coalesce(sum(ledger_${field}), 0)`,
  })),
];

/** A value that is not a number was altered: it counts as 0, so the sum differs. */
const amountAt = (json: string, { path, otherwise }: Figure) => {
  const text =
    otherwise === undefined
      ? `${json} #>> '${path}'`
      : `coalesce(${json} #>> '${path}', ${json} #>> '${otherwise}')`;
  return `case when ${text} ~ '^-?[0-9]+([.][0-9]+)?$' then (${text})::numeric else 0 end`;
};
const amounts = (of: (figure: Figure) => string) => `array[${FIGURES.map(of).join(", ")}]::numeric[]`;

const STATED = `select day, one ->> 'productId' as product_id, one ->> 'currency' as currency,
      ${amounts((figure) => amountAt("one", figure))} as amounts
    from closed_days, jsonb_array_elements(statement -> 'rows') as one`;
const CORRECTED = `select day, correction ->> 'productId', correction ->> 'currency',
      ${amounts((figure) => `${amountAt("correction -> 'after'", figure)} - ${amountAt("correction -> 'before'", figure)}`)}
    from corrections`;

/** @param stated SQL of the stated amounts @param bets SQL of the rows of `closed_bets` to compare them with */
const unequal = (stated: string, bets: string) => `
  with stated as (${stated}),
  all_stated as (
    select day, product_id, currency, place, sum(amount) as amount
    from stated, unnest(amounts) with ordinality as k (amount, place) group by 1, 2, 3, 4),
  all_bets as (
    select day, product_id, currency, place, amount
    from (select day, product_id, currency, array[${FIGURES.map(({ sum }) => sum).join(", ")}]::numeric[] as amounts
      from ${bets} group by 1, 2, 3) b, unnest(amounts) with ordinality as k (amount, place))
  select d.day::text as day, d.from_at as "from", coalesce(product_id, '') as "productId",
    coalesce(currency, '') as currency, place::int as place,
    coalesce(s.amount, 0)::text as stated, coalesce(b.amount, 0)::text as "ofBets"
  from all_stated s full join all_bets b using (day, product_id, currency, place)
  join closed_days d using (day)
  where coalesce(s.amount, 0) <> coalesce(b.amount, 0)
  order by d.number, product_id, currency, place`;
const UNEQUAL = unequal(`${STATED} union all ${CORRECTED}`, "closed_bets");
const UNEQUAL_LINES = unequal(
  `${STATED} where day = $1::text::date and one ->> 'productId' = $2`,
  `(${LINES_AS_CLOSED}) c`,
);

/** The sums of closed days that are not those of their bets, in the order of the days. Reads all stored bets. */
export async function findUnequalSums(tx: Query): Promise<UnequalSum[]> {
  return await readUnequal(tx, UNEQUAL, []);
}

/** The sums of a product of a closed day that are not those of its lines. */
export async function findUnequalLines(tx: Query, day: string, productId: string): Promise<UnequalSum[]> {
  return await readUnequal(tx, UNEQUAL_LINES, [day, productId]);
}

async function readUnequal(tx: Query, text: string, parameters: string[]): Promise<UnequalSum[]> {
  const rows = await tx.unsafe<(Omit<UnequalSum, "figure"> & { place: number })[]>(text, parameters);
  return rows.map(({ place, ...sum }) => ({
    ...sum,
    figure: (FIGURES[place - 1]?.path ?? "").slice(1, -1).replace(",", " "),
  }));
}

const statedAt = (path: string) => `amounts[${FIGURES.findIndex((figure) => figure.path === path) + 1}]`;
const UNEXPLAINED = `
  with stated as (${STATED} union all ${CORRECTED})
  select d.day::text as day, product_id as "productId", currency, sum(rest)::text as rest
  from (select day, product_id, currency, ${statedAt("{provider,net}")} - ${statedAt("{ledger,net}")}
      ${["mismatches", "adjustments", "pending", "rounding"].map((field) => `- ${statedAt(`{${field}}`)}`).join(" ")} as rest
    from stated) s
  join closed_days d using (day)
  where not exists (select from jsonb_array_elements(d.statement -> 'rows') as one
    where one ->> 'productId' = product_id and one -> 'complete' = 'false')
  group by d.number, d.day, product_id, currency having sum(rest) <> 0
  order by d.number, product_id, currency limit $1`;

/** What nothing explains of the closed days, corrections included, in the order of the days. Incomplete rows are left out. */
export async function findUnexplained(tx: Query, most: number): Promise<UnexplainedRest[]> {
  return await tx.unsafe<UnexplainedRest[]>(UNEXPLAINED, [most]);
}

/** What the closed days of a product say that moved, with their corrections: decimal text by currency. */
export async function readClosedMoney(
  tx: Query,
  productId: string,
): Promise<{ readonly currency: string; readonly moved: string; readonly outside: string }[]> {
  return await tx.unsafe(CLOSED_MONEY, [productId]);
}

const MONEY: readonly Figure[] = FIGURES.filter(
  ({ path }) => path === "{ledger,moved}" || path === "{outside}",
);
const sumOf = (place: number) => {
  const figure = MONEY[place] ?? { path: "{}", sum: "" };
  return `sum(case when kind = 'row' then ${amountAt("one", figure)}
    else ${amountAt("one -> 'after'", figure)} - ${amountAt("one -> 'before'", figure)} end)::text`;
};
const CLOSED_MONEY = `
  select one ->> 'currency' as currency, ${sumOf(MONEY.findIndex(({ path }) => path !== "{outside}"))} as moved,
    ${sumOf(MONEY.findIndex(({ path }) => path === "{outside}"))} as outside
  from (select 'row' as kind, one from closed_days, jsonb_array_elements(statement -> 'rows') as one
    union all select 'correction', correction from corrections) found
  where one ->> 'productId' = $1 group by 1`;

/** The number of corrections that arrived after the closed time: no closed day has them in its statement yet. */
export async function countUnsealed(tx: Query): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from corrections where at >= (select max(to_at) from closed_days)`;
  return row?.count ?? 0;
}
