import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { betItem } from "../support/http-provider.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { READER, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
const NONE = { accepted: 0, known: 0, stillRejected: 0 };

/** @param bad how many of them can still not be used */
async function reject(many: number, bad = 0): Promise<void> {
  const rejected = Array.from({ length: many }, (_, n) => ({
    raw: betItem({
      id: `"r${n}"`,
      betId: `"b${n}"`,
      productId: '"P2"',
      ...(n < bad ? { stake: '"ten"' } : {}),
    }),
    reason: 'productId is "P2", but "P1" was asked for',
  }));
  await writeRejected(sql, "P1", rejected, NOON);
}

beforeEach(async () => {
  await emptyTables(sql);
});

test("they are listed, shown and read again part by part, each part from the next of the one before", async () => {
  await reject(5, 1);
  const ask = await serveApi(context, TOKENS);
  const read = (path: string) => ask("GET", `/api/rejected${path}`, { token: READER.token });
  const { json } = await read("?limit=2&side=record");
  expect(json).toMatchObject({ counts: { records: 5, entries: 0 }, rejected: [{ side: "record" }, {}] });
  const [first] = json.rejected;
  expect((await read(`/${first.id}`)).json).toMatchObject({
    id: first.id,
    raw: expect.any(String),
    toDo: expect.any(String),
  });
  expect((await read("?limit=100")).json.next).toBeNull();

  const retry = (body: object) => ask("POST", "/api/rejected/retry", { body, token: WRITER.token });
  let [accepted, stayed, calls, after] = [0, 0, 0, undefined as string | undefined];
  do {
    const { json: part } = await retry({ limit: 2, after });
    accepted += part.records.accepted;
    stayed += part.stayed.length;
    calls += 1;
    after = part.next ?? undefined;
  } while (after !== undefined);
  expect({ accepted, stayed, calls }).toEqual({ accepted: 4, stayed: 1, calls: 3 });
  expect((await read("")).json).toMatchObject({
    counts: { records: 1 },
    rejected: [{ reason: "stake must be a number, but is ten" }],
  });
  expect((await retry({})).json).toMatchObject({ records: { ...NONE, stillRejected: 1 }, next: null });
  const audit = await sql`select who, route, details from audit_log order by id limit 1`;
  expect(audit).toEqual([{ who: "hand", route: "/api/rejected/retry", details: '{"limit":2}' }]);
});

test.each<[body: unknown, status: number, detail: string]>([
  [{ ids: ["record-9"] }, 404, 'there is no rejected record or entry "record-9"'],
  [{ ids: ["9"] }, 400, 'ids "9" is not the id of a rejected row'],
  [{ ids: [] }, 400, "ids must be a list of 1 to 1000 ids"],
  [{ ids: ["record-1"], limit: 5 }, 400, "give either ids, or limit and after"],
  [{ limit: 1001 }, 400, "limit 1001 is not a number from 1 to 1000"],
  [{ all: true }, 400, 'there is no field "all"'],
  [[], 400, "the body must be a JSON object"],
])("a retry of %j is refused, naming what is wrong", async (body, status, detail) => {
  const ask = await serveApi(context, TOKENS);
  expect(await ask("POST", "/api/rejected/retry", { body, token: WRITER.token })).toEqual(
    problemWith(status, detail),
  );
});
