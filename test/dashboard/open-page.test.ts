import { createServer, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { useDashboard } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { useServer } from "../support/use-server.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };

/** Ends the last stream that a page opened, as the server ends it after ten minutes. */
let endStream = () => {};
const streamsEnd = useServer(
  createServer(async (asked, answered) => {
    const url = `${await serveDashboard(context)}${asked.url}`;
    const onward = request(url, { headers: asked.headers }, (answer) => {
      answered.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(answered);
      if (asked.url?.startsWith("/changes")) endStream = () => answered.end(() => answer.destroy());
    });
    onward.end();
  }),
);

/** A visitor of the list of mismatches, whose streams can end. */
async function openVisit() {
  const url = await serveDashboard(context);
  // Another open page: the server has marks at hand, and no page misses them on a busy machine.
  const another = new AbortController();
  await fetch(`${url}/changes?topics=mismatches`, { signal: another.signal });
  onTestFinished(() => another.abort());
  const page = await browser.newPage({ baseUrl: streamsEnd(), drawn: false });
  let asked = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname === "/mismatches") asked += 1;
  });
  const readSeen = async () => {
    const answer = await fetch(`${url}/mismatches`, { headers: { accept: "text/html" } });
    return /data-seen="([^"]*)"/.exec(await answer.text())?.[1];
  };
  /** Opens a mismatch, and waits until the server knows of it. @returns the selector of its row */
  const change = async (betId: string) => {
    const before = await readSeen();
    await openMismatches(sql, config, NOON, [{ betId }]);
    await eventually("the server knows of the change", async () => (await readSeen()) !== before);
    const [row] = await sql<{ id: number }[]>`select max(id) as id from mismatches`;
    return `#m${row?.id}`;
  };
  const isIn = (state: "live" | "lost") => page.locator(`#connection[data-state="${state}"]`).waitFor();
  return { page, change, isIn, askedSoFar: () => asked };
}

test("a page is asked for once while nothing changes, and once more for a change", async () => {
  const { page, change, isIn, askedSoFar } = await openVisit();
  await page.goto("/mismatches");
  await isIn("live");
  const row = await change("once");
  await page.locator(row).waitFor();
  expect(askedSoFar()).toBe(2);
});

test("a change between the reading of a page and the opening of its stream is seen", async () => {
  const { page, change } = await openVisit();
  const held = Promise.withResolvers<void>();
  await page.route("**/changes?*", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto("/mismatches", { waitUntil: "domcontentloaded" });
  const row = await change("between");
  expect(await page.locator(row).count()).toBe(0);
  held.resolve();
  await page.locator(row).waitFor();
});

test("a page whose connection was lost is asked for again only if it has missed a change", async () => {
  const { page, change, isIn, askedSoFar } = await openVisit();
  await page.clock.install();
  await page.goto("/mismatches");
  await isIn("live");
  // Otherwise the page would ask by itself on a machine that is slow.
  await page.clock.pauseAt((await page.evaluate<number>("Date.now()")) + 1_000);
  const lose = async () => {
    endStream();
    await isIn("lost");
  };
  const connectAgain = async () => {
    await page.clock.runFor(2_000);
    await isIn("live");
    await page.clock.runFor(1_000);
  };
  await lose();
  await connectAgain();
  expect(askedSoFar()).toBe(1);
  await lose();
  const row = await change("missed");
  await connectAgain();
  await page.locator(row).waitFor();
  expect(askedSoFar()).toBe(2);
  await lose();
  await connectAgain();
  expect(askedSoFar()).toBe(2);
});
