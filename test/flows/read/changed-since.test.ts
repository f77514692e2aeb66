/** `changedSince`: a program that asks again with the cursor of the last answer sees every change, and none twice. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { openDatabase } from "../../../src/db/client.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import { silentLog } from "../../../src/log.ts";
import { writeTransitions } from "../../../src/mismatches/transition-store.ts";
import type { Transition } from "../../../src/mismatches/transitions.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { amount, NOON } from "../../support/examples.ts";
import { exampleFinding } from "../../support/findings.ts";
import { openMismatches } from "../../support/open-mismatches.ts";
import { problemWith, serveApi } from "../../support/ops-api.ts";

const { sql, url } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };
beforeEach(() => emptyTables(sql));

const SOURCES = join(import.meta.dirname, "../../../src");
const WRITERS = 5;
const TRANSACTIONS = 40;

/** A small generator of numbers below 1, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

interface Seen {
  readonly id: string;
  readonly status: string;
  readonly reason: string;
}
const keyOf = ({ id, status, reason }: Seen) => `${id} ${status} ${reason}`;

test.each([1, 2, 3])(
  "while transactions of any length commit and roll back, no change is lost and none comes twice (seed %i)",
  async (seed) => {
    const ask = await serveApi(context);
    let cursor: string = (await ask("GET", "/api/mismatches")).json.cursor;
    let incidentCursor: string = (await ask("GET", "/api/incidents")).json.cursor;
    const incidents = new Map<string, unknown>();
    const seen: Seen[] = [];
    const poll = async () => {
      const { json } = await ask("GET", `/api/mismatches?limit=7&changedSince=${cursor}`);
      const page: Seen[] = json.mismatches;
      expect(new Set(page.map(({ id }) => id)).size).toBe(page.length);
      seen.push(...page.map(({ id, status, reason }) => ({ id, status, reason })));
      cursor = json.cursor;
      const changed = (await ask("GET", `/api/incidents?limit=2&changedSince=${incidentCursor}`)).json;
      for (const one of changed.incidents) incidents.set(one.id, one);
      incidentCursor = changed.cursor;
      return json.next === null && changed.next === null;
    };

    let changes = 0;
    const committed = new Set<string>();
    const write = async (writer: number) => {
      const random = randomOf(seed * 1000 + writer);
      const own = openDatabase(url, 1);
      for (let count = 0; count < TRANSACTIONS; count += 1) {
        const written: Seen[] = [];
        const work = own.begin(async (tx) => {
          const known = await tx<
            { id: number; status: string }[]
          >`select id, status from mismatches order by id`;
          for (let more = 0; more < 1 + random() * 3; more += 1) {
            changes += 1;
            const content = exampleFinding({
              betId: `bet-${seed}-${changes}`,
              productId: `P${writer}`,
              reason: `change ${changes}`,
              amountAtRisk: amount(String(changes)),
            });
            const one = known[Math.floor(random() * known.length)];
            const transition = transitionOf(one, content, random());
            // With incidents some writers wait for each other; without, all of them overlap.
            if (random() < 0.3) await recordTransitions(tx, [transition], config, NOON);
            else await writeTransitions(tx, [transition], NOON);
            await new Promise((resolve) => setTimeout(resolve, random() * 25));
          }
          // What this transaction sees of its own rows is what it commits.
          written.push(
            ...(await tx<Seen[]>`select id::text as id, status, reason from mismatches
              where changed_in = pg_current_xact_id() order by id`),
          );
          if (random() < 0.15) throw new Error("rolled back");
        });
        // Two writers may wait for each other; PostgreSQL ends one of them.
        const isDone = await work.then(
          () => true,
          () => false,
        );
        if (isDone) for (const one of written) committed.add(keyOf(one));
      }
      await own.end();
    };
    let isWriting = true;
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, index) => write(index + 1))).finally(
      () => {
        isWriting = false;
      },
    );
    while (isWriting) await poll();
    await writing;
    await finished();
    while (!(await poll()));
    const last = new Map(seen.map((one) => [one.id, keyOf(one)]));
    const rows = await sql<Seen[]>`select id::text as id, status, reason from mismatches order by id`;
    expect(rows.map((row) => last.get(row.id))).toEqual(rows.map(keyOf));

    const keys = seen.map(keyOf);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    expect(keys.filter((key) => !committed.has(key))).toEqual([]);
    expect(committed.size).toBeGreaterThan(TRANSACTIONS);
    const { json } = await ask("GET", "/api/incidents?state=all&limit=1000");
    expect(json.incidents.length).toBeGreaterThan(0);
    expect(json.incidents.map(({ id }: { id: string }) => incidents.get(id))).toEqual(json.incidents);
  },
);

/** Waits until no transaction is left that began before the newest change; other databases of the server have some too. */
const finished = () =>
  eventually("all changes are finished", async () => {
    const rows = await sql`
      select from mismatches where changed_in >= pg_snapshot_xmin(pg_current_snapshot())
      union all select from incidents where changed_in >= pg_snapshot_xmin(pg_current_snapshot())`;
    return rows.length === 0;
  });

function transitionOf(
  one: { readonly id: number; readonly status: string } | undefined,
  content: ReturnType<typeof exampleFinding>,
  chance: number,
): Transition {
  if (one === undefined || chance < 0.4) return { change: "open", content };
  if (one.status === "resolved") return { change: "reopen", id: one.id, content };
  return chance < 0.7 ? { change: "refresh", id: one.id, content } : { change: "resolve", id: one.id };
}

test("a transaction that commits after a later one is in the next answer, and holds nothing back for ever", async () => {
  const ask = await serveApi(context);
  const { cursor } = (await ask("GET", "/api/mismatches")).json;
  const since = async (place: string) => (await ask("GET", `/api/mismatches?changedSince=${place}`)).json;
  const ids = ({ mismatches }: { mismatches: { id: string }[] }) => mismatches.map(({ id }) => id);
  let meanwhile = { cursor: "", mismatches: [] };
  await sql.begin(async (tx) => {
    await writeTransitions(tx, [{ change: "open", content: exampleFinding({ betId: "late" }) }], NOON);
    await openMismatches(sql, config, NOON, [{ betId: "early" }]);
    meanwhile = await since(cursor);
  });
  expect(ids(meanwhile)).toEqual([]);
  await finished();
  expect(ids(await since(meanwhile.cursor))).toEqual(["1", "2"]);
});

test("a mismatch that is only seen again has not changed; one that is decided, or whose end is noted, has", async () => {
  const ask = await serveApi(context);
  await openMismatches(sql, config, NOON, [{}]);
  let cursor = (await ask("GET", "/api/mismatches")).json.cursor;
  const changed = async () => {
    await finished();
    const { json } = await ask("GET", `/api/mismatches?changedSince=${cursor}`);
    cursor = json.cursor;
    return json.mismatches.map(({ status }: { status: string }) => status);
  };
  await changed();
  const refresh = (reason?: string): Transition => ({
    change: "refresh",
    id: 1,
    content: exampleFinding(reason === undefined ? {} : { reason }),
  });
  await sql.begin((tx) => recordTransitions(tx, [refresh()], config, NOON + 24 * 3_600_000));
  expect(await changed()).toEqual([]);
  await sql.begin((tx) => recordTransitions(tx, [refresh("another reason")], config, NOON));
  expect(await changed()).toEqual(["open"]);
  await ask("POST", "/api/mismatches/1/ignore", { body: { note: "a test" } });
  expect(await changed()).toEqual(["ignored"]);
  await sql.begin((tx) => recordTransitions(tx, [{ change: "cease", id: 1 }], config, NOON));
  expect(await changed()).toEqual(["ignored"]);
});

test("filters apply to what changed; a cursor of another database is gone, and a wrong one names field and value", async () => {
  const ask = await serveApi(context);
  const { cursor } = (await ask("GET", "/api/mismatches")).json;
  await openMismatches(sql, config, NOON, [{ amountAtRisk: amount("1") }, { amountAtRisk: amount("9") }]);
  await finished();
  const { json } = await ask("GET", `/api/mismatches?changedSince=${cursor}&minAmount=5`);
  expect(json.mismatches.map(({ id }: { id: string }) => id)).toEqual(["2"]);
  const first = (await ask("GET", `/api/mismatches?changedSince=${cursor}&limit=1`)).json;
  const second = (await ask("GET", `/api/mismatches?changedSince=${cursor}&limit=1&after=${first.next}`))
    .json;
  expect([first.mismatches[0].id, second.mismatches[0].id, second.next]).toEqual(["1", "2", null]);
  expect((await ask("GET", "/api/mismatches?limit=1&after=1")).json.cursor).toBeNull();
  for (const list of ["mismatches", "incidents"]) {
    const other = `${cursor[0] === "0" ? "1" : "0"}${cursor.slice(1)}`;
    expect(await ask("GET", `/api/${list}?changedSince=${other}`)).toEqual(
      problemWith(410, "is not a cursor of this database, which was restored or replaced since"),
    );
    // As after a snapshot of the disk was started: its transactions count on from an earlier one.
    const later = cursor.replace(/-\d+-/, "-99999999999-");
    expect(await ask("GET", `/api/${list}?changedSince=${later}`)).toEqual(
      problemWith(410, "is not a cursor of this database, which was restored or replaced since"),
    );
    expect(await ask("GET", `/api/${list}?changedSince=${cursor}&count=true`)).toEqual(
      problemWith(400, "count is not possible with changedSince"),
    );
    expect(await ask("GET", `/api/${list}?changedSince=yesterday`)).toEqual(
      problemWith(400, 'changedSince "yesterday" is not the "cursor" of an earlier answer'),
    );
    expect(await ask("GET", `/api/${list}?changedSince=${cursor}&after=7`)).toEqual(
      problemWith(400, 'after "7" is not the "next" of a page with changedSince'),
    );
  }
  expect(await ask("GET", `/api/mismatches?changedSince=${cursor}&sort=at-risk`)).toEqual(
    problemWith(400, 'sort "at-risk" is not possible with changedSince'),
  );
});

test("every statement that changes a mismatch or an incident says in which transaction", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const changing = /\b(?:update|insert into) (?:mismatches|incidents) (?!.* select)/g;
  const found = files
    .filter((path) => path.endsWith("store.ts"))
    .flatMap((path) => {
      const text = readFileSync(join(SOURCES, path), "utf8");
      return Array.from(text.matchAll(changing), ({ index }) => ({
        path,
        says: text.slice(index, index + 700),
      }));
    });
  expect(found.length).toBeGreaterThanOrEqual(8);
  // No answer shows when a reminder was sent.
  const isShown = ({ says }: { says: string }) => !/^\S+ \S+ \w+ set reminded_at = /.test(says);
  expect(found.filter((one) => isShown(one) && !one.says.includes("changed_in"))).toEqual([]);
});
