/** Money errors that operators have reported, in one database, as plain SQL writes them, against a real worker; and the same played right. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { callRecon } from "../cli/call-recon.ts";
import { WORKER } from "../simulation/crew.ts";
import { type ReconProcess, startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, useHttpProvider } from "../support/http-provider.ts";
import { ownPort } from "../support/own-port.ts";

const began = systemClock.now();
const since = formatInstant(began - 60_000);
const CONFIG = {
  products: [
    { productId: "SLOTS", since },
    { productId: "FISH", since, settlement: "session" },
    { productId: "VENDOR", since, settlement: "mixed" },
  ],
  pull: { every: "PT1S", settleDelay: "PT1S", overlap: "PT2S", windowMin: "PT1S", resweepAfter: [] },
  diff: { every: "PT1S", callbackGrace: "PT2S", providerGrace: "PT2S", sessionQuiet: "PT3S" },
  alerts: { every: "PT1S" },
};

/** The time of an event: seconds before the start of the tests. */
const at = (second: number) => formatInstant(began - second * 1000);

interface Entry {
  readonly product: string;
  readonly callback: string;
  readonly status: string;
  readonly bet: string;
  readonly request?: string;
  readonly round?: string;
  readonly username?: string;
  /** default: THB */
  readonly currency?: string;
  readonly stake?: string;
  readonly payout?: string;
  readonly moved: string;
  readonly second: number;
}

/** A play of a product: what the provider lists, and what the operator's program writes when it is right, and when it is wrong. */
interface Play {
  readonly name: string;
  readonly records: readonly [product: string, item: string][];
  readonly right: readonly Entry[];
  readonly wrong: readonly Entry[];
}

const listed = (
  product: string,
  bet: string,
  username: string,
  money: [stake: string, payout: string],
  second: number,
) => {
  const date = JSON.stringify(at(second));
  const text = (value: string) => JSON.stringify(value);
  const item = betItem({
    id: text(`rec-${bet}`),
    betId: text(bet),
    roundId: text(`round-${bet}`),
    username: text(username),
    productId: text(product),
    stake: money[0],
    payout: money[1],
    payoutStatus: money[1] === "0" ? '"LOSE"' : '"WIN"',
    accountingDate: date,
    updatedDate: date,
  });
  return [product, item] as const satisfies [string, string];
};
const FISHING = [
  { callback: "adjustBalance", status: "DEBIT", bet: "in", stake: "100", second: 20 },
] as const;
const fishing = (product: string, username: string, [debited, credited]: [string, string]): Entry[] => [
  { ...FISHING[0], product, bet: `in ${product}`, username, moved: debited },
  {
    product,
    callback: "adjustBalance",
    status: "CREDIT",
    bet: `out ${product}`,
    username,
    payout: "60",
    moved: credited,
    second: 18,
  },
];
const slot = (product: string, username: string, paid: string): Entry[] => [
  {
    product,
    callback: "placeBets",
    status: "OPEN",
    bet: `slot ${product}`,
    username,
    stake: "10",
    moved: "-10",
    second: 20,
  },
  {
    product,
    callback: "settleBets",
    status: "SETTLED",
    bet: `slot ${product}`,
    username,
    payout: "25",
    moved: paid,
    second: 19,
  },
];
const tip = (request: string): Entry => ({
  product: "SLOTS",
  callback: "placeTips",
  status: "OPEN",
  bet: "tip",
  request,
  username: "tim",
  stake: "10",
  moved: "-10",
  second: 20,
});
const jackpot: Entry = {
  product: "FISH",
  callback: "winRewards",
  status: "SETTLED",
  bet: "jackpot",
  username: "joe",
  payout: "7000",
  moved: "7000",
  second: 20,
};
const credit = (product: string): Entry => ({
  product,
  callback: "adjustBalance",
  status: "CREDIT",
  bet: "credit",
  username: "carl",
  payout: "5000",
  moved: "5000",
  second: 20,
});
/** 100 THB are placed, and 200 of a currency are paid. */
const paidIn = (currency: string): Entry[] => {
  const of = { product: "SLOTS", bet: "abroad", username: "cora" };
  return [
    { ...of, callback: "placeBets", status: "OPEN", stake: "100", moved: "-100", second: 20 },
    { ...of, callback: "settleBets", status: "SETTLED", currency, payout: "200", moved: "200", second: 19 },
  ];
};
const PLAYS: readonly Play[] = [
  {
    name: "a win paid in another currency",
    records: [listed("SLOTS", "abroad", "cora", ["100", "200"], 19)],
    right: paidIn("THB"),
    wrong: paidIn("USD"),
  },
  { name: "a tip that was debited twice", records: [], right: [tip("t1")], wrong: [tip("t1"), tip("t2")] },
  {
    name: "a buy-in that was never debited, and a credit of 60 that paid 600",
    records: [listed("FISH", "shot", "fred", ["40", "0"], 19)],
    right: fishing("FISH", "fred", ["-100", "60"]),
    wrong: fishing("FISH", "fred", ["0", "600"]),
  },
  {
    name: "a jackpot of 7,000 that the provider does not have",
    records: [],
    right: [],
    wrong: [jackpot],
  },
  {
    name: "a credit of 5,000 in a product that settles by bets",
    records: [],
    right: [],
    wrong: [credit("SLOTS")],
  },
  {
    name: "play in a product that is not in the settings",
    records: [],
    right: [],
    wrong: slot("NEW", "nina", "25"),
  },
  {
    name: "slots and fishing under one product id",
    records: [
      listed("VENDOR", "slot VENDOR", "vera", ["10", "25"], 19),
      listed("VENDOR", "reef", "vera", ["40", "0"], 19),
    ],
    right: [...slot("VENDOR", "vera", "25"), ...fishing("VENDOR", "vera", ["-100", "60"])],
    wrong: [...slot("VENDOR", "vera", "250"), ...fishing("VENDOR", "vera", ["0", "60"])],
  },
];

const provider = useHttpProvider();
beforeEach(() =>
  provider.answer(({ parameters, from, to }) => {
    const items = PLAYS.flatMap(({ records }) => records).filter(
      ([product]) => product === parameters["productId"],
    );
    const within = items.filter(([, item]) => {
      const date = Date.parse((JSON.parse(item) as { accountingDate: string }).accountingDate);
      return date >= from && date < to;
    });
    return page(within.map(([, item]) => item));
  }),
);

function insert({ product, callback, status, bet, moved, second, ...one }: Entry): string {
  const request = one.request ?? `${bet} ${callback}`;
  const round = callback === "adjustBalance" ? null : `round-${bet}`;
  const values = [
    `${product} ${request}`,
    callback,
    request,
    product,
    one.username ?? "anna",
    one.currency ?? "THB",
    bet,
    round,
    status,
    one.stake ?? null,
    one.payout ?? null,
    "false",
    moved,
    at(second),
    at(second),
  ];
  return `insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
      status, bet_amount, payout_amount, skip_balance_update, moved, occurred_at, received_at)
    values (${values.map((value) => (value === null ? "null" : `'${value}'`)).join(", ")})`;
}

/** Call in a describe. A worker runs over the world while the tests of the describe run. */
function useWorld(how: "right" | "wrong") {
  const { sql, url } = useDatabase();
  const folder = mkdtempSync(join(tmpdir(), "recon-six-errors-"));
  const environment: Record<string, string> = {};
  let worker: ReconProcess;
  beforeAll(async () => {
    const program = postgres(url, { max: 1, onnotice: () => {} });
    for (const play of PLAYS) for (const entry of play[how]) await program.unsafe(insert(entry));
    await program.end();
    const config = join(folder, "recon.config.json");
    writeFileSync(config, JSON.stringify(CONFIG));
    Object.assign(environment, {
      DATABASE_URL: url,
      PROVIDER_BASE_URL: provider.url(),
      PROVIDER_USERNAME: "agent",
      PROVIDER_PASSWORD: "secret",
      RECON_CONFIG: config,
      OPS_PORT: String(await ownPort()),
    });
    worker = startRecon([WORKER.name], environment, WORKER.awaited);
    expect(await worker.ready).toBe(true);
  });
  afterAll(async () => {
    worker.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    rmSync(folder, { recursive: true });
  });
  const opened = async () =>
    (
      await sql<{ story: string }[]>`
    select kind || ' of ' || username || ' in ' || product_id || ', ' || amount_at_risk::float8 as story
    from mismatches where status = 'open' order by 1`
    ).map(({ story }) => story);
  const ask = async (...args: string[]) => {
    const { code, stdout } = await callRecon([...args, "--json"], environment);
    return { code, json: JSON.parse(stdout) };
  };
  const overview = async () => await (await fetch(`http://127.0.0.1:${environment["OPS_PORT"]}/`)).text();
  const judged = () =>
    eventually("everything is judged", async () => {
      const { json } = await ask("status");
      return (
        json.comparing.upTo !== null &&
        Date.parse(json.comparing.upTo) > began + 12_000 &&
        json.comparing.waiting === 0
      );
    });
  return { sql, opened, ask, overview, judged };
}

describe("played wrong", () => {
  const { sql, opened, ask, overview, judged } = useWorld("wrong");

  test("each error is a mismatch of its kind", async () => {
    await judged();
    expect(await opened()).toEqual([
      "currency-differs of cora in SLOTS, 200",
      "net-differs of fred in FISH, 640",
      "net-differs of tim in SLOTS, 10",
      "net-differs of vera in VENDOR, 100",
      "net-differs of vera in VENDOR, 225",
      "session-differs of joe in FISH, 7000",
    ]);
  });

  test("what nothing compares is outside, in statement, status, doctor, overview and alerts", async () => {
    await judged();
    await eventually(
      "both are alerted",
      async () =>
        (
          await sql`
      select distinct kind from alerts where kind in ('money-outside', 'unknown-product')`
        ).length === 2,
    );
    const { json: status } = await ask("status");
    expect(status.unknownProducts).toEqual([{ productId: "NEW", entries: 2, since: at(20) }]);
    expect(status.outside).toEqual([
      { productId: "NEW", currency: "THB", outside: "15" },
      { productId: "SLOTS", currency: "THB", outside: "5000" },
    ]);
    const doctor = await ask("doctor");
    expect(doctor.code).toBe(1);
    expect(await overview()).not.toContain("All is well");
    const day = at(20).slice(0, 10);
    const { json: report } = await ask("report", "--day", day);
    const rows = report.rows.map(({ productId, currency, outside, rest }: Record<string, string>) => [
      productId,
      currency,
      outside,
      rest,
    ]);
    expect(rows).toContainEqual(["NEW", "THB", "15", "0"]);
    expect(rows).toContainEqual(["SLOTS", "THB", "5000", "0"]);
    expect(rows).toContainEqual(["SLOTS", "USD", "0", "0"]);
  });
});

describe("played right", () => {
  const { sql, opened, ask, judged } = useWorld("right");

  test("nothing is open, outside or alerted", async () => {
    await judged();
    expect(await opened()).toEqual([]);
    expect(await sql`select kind from alerts`).toEqual([]);
    const { json: status } = await ask("status");
    expect(status).toMatchObject({ unknownProducts: [], outside: [] });
  });
});
