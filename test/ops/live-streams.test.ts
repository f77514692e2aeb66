import { get, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { bearer, READER, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const MOST_OF_TOKEN = 30;
const config = parseConfig({ products: [{ productId: "P1" }] });

interface OpenStream {
  readonly status: number;
  readonly detail: string;
  close(): void;
}

async function serve() {
  const context = { sql, clock: createTestClock(NOON), log: silentLog, config };
  const server = await startOpsServer(
    context,
    { host: "127.0.0.1", port: 0, tokens: TOKENS },
    async () => {},
  );
  onTestFinished(() => server.close());
  const ask = (token: { readonly token: string }) =>
    get(`${server.url}/changes?topics=pull`, { headers: bearer(token), agent: false });
  const open = async (token: { readonly token: string }): Promise<OpenStream> => {
    const request = ask(token);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request.once("response", resolve).on("error", reject);
    const response = await promise;
    const status = response.statusCode ?? 0;
    const close = () => request.destroy();
    if (status === 200) return { status, detail: "", close };
    const text = (await response.setEncoding("utf8").toArray()).join("");
    return { status, detail: JSON.parse(text).detail, close };
  };
  const openMost = (token: { readonly token: string }) =>
    Promise.all(Array.from({ length: MOST_OF_TOKEN }, () => open(token)));
  /** What the page says that it shows. */
  const readSeen = async (path: string) => {
    const answer = await fetch(server.url + path, { headers: { ...bearer(READER), accept: "text/html" } });
    expect([path, answer.status]).toEqual([path, 200]);
    return /<main [^>]*data-seen="([^"]*)"/.exec(await answer.text())?.[1] ?? null;
  };
  /** The events of a stream that has just opened. */
  const readFirstEvents = async (seen: string | null) => {
    const query = new URLSearchParams({ topics: "mismatches", ...(seen === null ? {} : { seen }) });
    const answer = await fetch(`${server.url}/changes?${query}`, { headers: bearer(READER) });
    let text = "";
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes("event: heartbeat")) break;
    }
    return [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  };
  return { ask, open, openMost, readSeen, readFirstEvents };
}

const OK = Array<number>(MOST_OF_TOKEN).fill(200);
const statusesOf = (pages: readonly OpenStream[]) => pages.map(({ status }) => status);

test("a token may have a limited number of live pages; the next page is refused with a reason, and other tokens are not affected", async () => {
  const { open, openMost } = await serve();
  const pages = await openMost(READER);
  expect(statusesOf(pages)).toEqual(OK);
  const further = await open(READER);
  expect([further.status, further.detail]).toEqual([
    429,
    '"eye" has 30 pages open already: close some of them',
  ]);
  expect((await open(WRITER)).status).toBe(200);
  pages[0]?.close();
  await eventually("a closed page makes room", async () => (await open(READER)).status === 200);
});

test("pages that were closed before the database answered make room too", async () => {
  const { ask, openMost } = await serve();
  await sql.begin(async (tx) => {
    await tx`lock table alerts in access exclusive mode`;
    const left = Array.from({ length: MOST_OF_TOKEN }, () => ask(READER).on("error", () => {}));
    await untilSomebodyWaits(sql);
    for (const request of left) request.destroy();
  });
  const isFree = async () => {
    const pages = await openMost(READER);
    if (statusesOf(pages).every((status) => status === 200)) return true;
    for (const page of pages) page.close();
    return false;
  };
  await eventually("all places are free again", isFree);
});

test("a stream that opens reports at once what its page does not show yet, also on another worker, and nothing else", async () => {
  const [first, second] = [await serve(), await serve()];
  // A busy machine may give no marks in time at first.
  await first.readFirstEvents(null);
  const seen = await first.readSeen("/mismatches");
  expect(await first.readFirstEvents(seen)).toEqual(["heartbeat"]);
  await openMismatches(sql, config, NOON, [{}]);
  expect(await second.readFirstEvents(seen)).toEqual(["changed", "heartbeat"]);
  const present = await second.readSeen("/mismatches");
  expect(await second.readFirstEvents(present)).toEqual(["heartbeat"]);
  for (const unknown of [null, "", "other"])
    expect([unknown, await first.readFirstEvents(unknown)]).toEqual([unknown, ["changed", "heartbeat"]]);
});

test("a page says what had happened before it was read, not what happened meanwhile", async () => {
  await openMismatches(sql, config, NOON, [{ betId: "earlier" }]);
  const { readSeen, readFirstEvents } = await serve();
  await readFirstEvents(null);
  const before = await readSeen("/incidents");
  let slow: Promise<string | null> | null = null;
  await sql.begin(async (tx) => {
    await tx`lock table incidents in access exclusive mode`;
    slow = readSeen("/incidents");
    await untilSomebodyWaits(sql);
    await sql`update mismatches set last_seen_at = last_seen_at + interval '1 minute'`;
    await eventually("the server knows of the change", async () =>
      (await readFirstEvents(before)).includes("changed"),
    );
  });
  expect([await slow, before]).toEqual([before, expect.stringMatching(/^[\w-]{22}$/)]);
});

test("a page does not wait for marks that the database does not give: it says nothing, and its stream has it refreshed", async () => {
  const { readSeen, readFirstEvents } = await serve();
  await sql.begin(async (tx) => {
    await tx`lock table alerts in access exclusive mode`;
    expect(await readSeen("/mismatches")).toBe("");
  });
  expect(await readFirstEvents("")).toEqual(["changed", "heartbeat"]);
});
