/**
 * Plays the worlds that were once missed: rows by plain SQL, records over HTTP, and comparisons until all graces are over. Then
 * compares what the program holds with what the oracle wants. `node test/simulation/missed-worlds.ts [CHECKOUT]` prints a line
 * for each world: in the program of an older CHECKOUT the oracle finds what this program no longer misses.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sql } from "../../src/db/client.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { EARLY, factsOf, NOW } from "../oracle/examples.ts";
import {
  type Facts,
  type LedgerRow,
  type ListedRecord,
  type ProductSettings,
  units,
} from "../oracle/facts.ts";
import { judge } from "../oracle/judge.ts";
import { MISSED_WORLDS } from "../oracle/missed-worlds.ts";
import { disagree } from "./oracle-audit.ts";

const HOUR_MS = 3_600_000;
const STEPS = 4;
const CREDENTIALS = { username: "agent", password: "of missed worlds" };
const iso = (at: number) => new Date(at).toISOString();

interface PlayedWorld {
  readonly name: string;
  /** what the program holds, and what the oracle wants, in words */
  readonly held: string;
  readonly wanted: string;
  /** one line for each disagreement */
  readonly problems: readonly string[];
}

interface World {
  readonly name: string;
  readonly facts: Facts;
  readonly wanted: string;
}

/** The worlds share a database, so each has a product and a player of its own. */
function worldAt(index: number): World {
  const [name, rows, records, settings, wanted] = MISSED_WORLDS[index] as (typeof MISSED_WORLDS)[number];
  const facts = factsOf(rows, records, settings);
  const own = (text: string) => `${text}-${index}`;
  return {
    name,
    wanted: wanted || "nothing",
    facts: {
      ...facts,
      rows: facts.rows.map((row) => ({
        ...row,
        entry_id: `${index}:${row.entry_id}`,
        product_id: own(row.product_id),
        username: own(row.username),
      })),
      records: facts.records.map((record) => ({
        ...record,
        productId: own(record.productId),
        username: own(record.username),
      })),
      products: facts.products.map((product) => ({ ...product, productId: own(product.productId) })),
    },
  };
}

/** The modules of the program in a checkout; an older one has no measure of money outside. */
async function loadProgram(checkout: string) {
  const load = async <Module>(path: string) => (await import(join(checkout, path))) as Module;
  return {
    ...(await load<typeof import("../../src/config-file.ts")>("src/config-file.ts")),
    ...(await load<typeof import("../../src/db/client.ts")>("src/db/client.ts")),
    ...(await load<typeof import("../../src/flows/compare/compare-product.ts")>(
      "src/flows/compare/compare-product.ts",
    )),
    ...(await load<typeof import("../../src/flows/context.ts")>("src/flows/context.ts")),
    ...(await load<typeof import("../../src/flows/ledger/follow-ledger.ts")>(
      "src/flows/ledger/follow-ledger.ts",
    )),
    ...(await load<typeof import("../../src/log.ts")>("src/log.ts")),
    ...(await load<typeof import("../../src/mismatches/store.ts")>("src/mismatches/store.ts")),
    ...(await load<typeof import("../../src/provider/client.ts")>("src/provider/client.ts")),
    ...(await load<typeof import("../support/clock.ts")>("test/support/clock.ts")),
    ...(await load<typeof import("../support/pull-product.ts")>("test/support/pull-product.ts")),
    ...(await load<typeof import("./scratch-databases.ts")>("test/simulation/scratch-databases.ts")),
    measureOutside: await load<typeof import("../../src/flows/read/read-outside.ts")>(
      "src/flows/read/read-outside.ts",
    ).then(
      (outside) => outside.measureOutside,
      () => null,
    ),
  };
}
type Program = Awaited<ReturnType<typeof loadProgram>>;

/** @param checkout a folder with the program and its packages */
export async function playMissedWorlds(checkout: string): Promise<PlayedWorld[]> {
  const program = await loadProgram(checkout);
  const worlds = MISSED_WORLDS.map((_, index) => worldAt(index));
  const isShared = ({ facts }: World) => !hasRejected(facts) && facts.balances === "partial";
  const apart = worlds.filter((world) => !isShared(world));
  const databases = await program.openScratchDatabases();
  try {
    const played: PlayedWorld[] = [];
    for (const [index, group] of [worlds.filter(isShared), ...apart.map((world) => [world])].entries())
      played.push(...(await databases.use(index, (url) => playTogether(program, url, group))));
    return played;
  } finally {
    await databases.close();
  }
}

const hasRejected = (facts: Facts) => judge(facts).undecided.some(({ why }) => why === "a rejected entry");

async function playTogether(program: Program, url: string, worlds: readonly World[]): Promise<PlayedWorld[]> {
  const [{ facts: settings }] = worlds as [World];
  // The program's table refuses such rows. They come by a relation, which they can hold up.
  const relation = hasRejected(settings) ? "operator_ledger" : null;
  const clock = program.createTestClock(EARLY);
  const provider = await startProvider(
    worlds.flatMap(({ facts }) => facts.records),
    clock.now,
  );
  const limits = { requestTimeoutMs: 60_000, connections: 4, production: false };
  const client = program.openProvider({ baseUrl: provider.url, ...CREDENTIALS }, limits, clock);
  const sql = program.openDatabase(url, 4);
  const config = program.parseConfig({
    products: worlds.flatMap(({ facts }) => facts.products.map((product) => settingsOf(program, product))),
    ledger: {
      relation,
      since: iso(settings.ledgerSince ?? EARLY),
      ...(settings.balances === "partial" ? {} : knownOf(program, { balances: settings.balances }, inLedger)),
    },
  });
  const context: PullContext = { sql, config, clock, log: program.silentLog, fetchPage: client.fetchBetPage };
  try {
    if (relation !== null) await createRelation(sql, relation);
    for (const row of worlds.flatMap(({ facts }) => facts.rows)) await writeRow(sql, relation, row);
    const failures = new Set<string>();
    for (let step = 1; step <= STEPS; step++) {
      clock.set(EARLY + Math.round(((NOW - EARLY) * step) / STEPS));
      await work(program, context).catch((error: unknown) => failures.add(String(error)));
    }
    const filter = { statuses: [], kind: null, productId: null, username: null, limit: 1_000, after: null };
    const { mismatches } = await program.listMismatches(sql, filter);
    const money = (await program.measureOutside?.(context))?.content.money ?? [];
    return worlds.map((world) => compare(world, mismatches, money, [...failures]));
  } finally {
    await sql.end({ timeout: 5 });
    client.close();
    provider.stop();
  }
}

type Held = Awaited<ReturnType<Program["listMismatches"]>>["mismatches"];
type Money = { readonly productId: string; readonly currency: string; readonly outside: string };

function compare(
  { name, facts, wanted }: World,
  held: Held,
  money: readonly Money[],
  failures: readonly string[],
): PlayedWorld {
  const products = [...facts.products, ...facts.rows.map((row) => ({ productId: row.product_id }))].map(
    ({ productId }) => productId,
  );
  const isOwn = ({ productId }: { readonly productId: string }) => products.includes(productId);
  const open = held.filter(isOwn).map((one) => ({ ...one, effect: one.effect ?? null }));
  const judgement = judge(facts);
  const outside = money.filter(isOwn).map((one) => `${one.productId} ${one.currency} ${one.outside}`);
  const should = [...judgement.outside].map(([key, moved]) => `${key} ${moved / units("1")}`);
  const { problems } = disagree(judgement, open);
  if (outside.toSorted().join() !== should.toSorted().join())
    problems.push(`outside: ${should.join() || "nothing"}`);
  const said = [
    ...failures,
    ...open.map(({ kind, amountAtRisk }) => `${kind} ${amountAtRisk}`),
    ...money.filter(isOwn).map((one) => `outside ${one.outside}`),
  ];
  return { name, wanted, problems, held: said.join(", ") || "nothing" };
}

/** Reads the ledger, pulls and compares. The next pull does the confirm fetches that the comparison planned. */
async function work(program: Program, context: PullContext): Promise<void> {
  const signal = new AbortController().signal;
  await program.followLedger(context, signal);
  for (const productId of program.pulledProducts(context.config)) {
    await program.pullProduct(context, productId, signal);
    await program.compareProduct(context, productId, signal);
  }
}

const inLedger = (ledger: object) => ({ products: [{ productId: "P" }], ledger });
const inProduct = (product: object) => ({ products: [{ productId: "P", ...product }] });

/** The settings that the program knows. */
function knownOf({ parseConfig }: Program, settings: object, configOf: (part: object) => object): object {
  const isKnown = (part: object) => {
    try {
      return parseConfig(configOf(part)) !== null;
    } catch {
      return false;
    }
  };
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => isKnown({ [name]: value })));
}

/** As in the config file. */
function settingsOf(program: Program, product: ProductSettings): object {
  const { productId, stuckOpenAfter: _, ledgerSince, ...others } = product;
  const since = { since: iso(EARLY - HOUR_MS), ledgerSince: ledgerSince === null ? null : iso(ledgerSince) };
  return { productId, ...since, ...knownOf(program, others, inProduct) };
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ bet_amount: "numeric", payout_amount: "numeric", moved: "numeric" },
  ...{ balance_before: "numeric", balance_after: "numeric" },
  ...{ single_state: "boolean", end_round: "boolean", skip_balance_update: "boolean" },
  ...{ occurred_at: "timestamptz", received_at: "timestamptz" },
};

/**
 * A view over a table of text, as of an operator who keeps other types. PostgreSQL expects a search by received_at to cost as
 * much as in a large table without an index: then a program may search less often, but not never.
 */
async function createRelation(sql: Sql, relation: string): Promise<void> {
  const names = Object.keys(factsOf([{}], []).rows[0] ?? {});
  await sql.unsafe(`create table operator_rows (${names.map((name) => `${name} text`).join(", ")})`);
  await sql`
    create function costly(value text) returns text language plpgsql immutable cost 1e6 as 'begin return value; end'`;
  const valueIn = (name: string) => (name === "received_at" ? "costly(received_at)" : name);
  const columns = names.map((name) => `${valueIn(name)}::${TYPES[name] ?? "text"} as ${name}`);
  await sql.unsafe(`create view ${relation} as select ${columns.join(", ")} from operator_rows`);
}

async function writeRow(sql: Sql, relation: string | null, row: LedgerRow): Promise<void> {
  const at = (time: number | null) => (time === null ? null : iso(time));
  const timed = { ...row, occurred_at: at(row.occurred_at), received_at: at(row.received_at) };
  const texts = Object.entries(timed).map(([name, value]) => [name, value === null ? null : String(value)]);
  const written = relation === null ? timed : Object.fromEntries(texts);
  await sql`insert into ${sql(relation === null ? "callback_entries" : "operator_rows")} ${sql(written)}`;
}

/** A provider that lists records from their updatedDate on. */
async function startProvider(records: readonly ListedRecord[], now: () => number) {
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://provider").searchParams;
    const [from, to] = ["startTime", "endTime"].map((name) => Date.parse(query.get(name) ?? ""));
    const txns = records
      .filter(({ productId }) => productId === query.get("productId"))
      .filter(({ updatedDate }) => Date.parse(updatedDate) <= now())
      .filter(
        (one) => Date.parse(one.accountingDate) >= (from ?? 0) && Date.parse(one.accountingDate) < (to ?? 0),
      )
      .map((one) => ({
        ...one,
        stake: Number(one.stake),
        payout: Number(one.payout),
        gameCode: "G",
        gameName: "G",
      }));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ reqId: "r", code: 0, message: "success", data: { txns } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const played = await playMissedWorlds(process.argv[2] ?? join(import.meta.dirname, "../.."));
  for (const { name, held, wanted, problems } of played)
    console.log(
      `${problems.length === 0 ? "agree   " : "DISAGREE"} | ${name} | open: ${held} | oracle: ${wanted}`,
    );
  const found = played.filter(({ problems }) => problems.length > 0);
  if (process.argv[2] === undefined)
    for (const { name, problems } of found) console.log(`${name}\n  ${problems.join("\n  ")}`);
  console.log(`${found.length} of ${played.length} worlds in which the program and the oracle disagree`);
}
