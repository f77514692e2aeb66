import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { dropExpired } from "../../src/flows/retention/drop-expired.ts";
import { beginImport } from "../../src/ledger/past-import-store.ts";
import { silentLog } from "../../src/log.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { exampleEntryLine, HOUR_MS, NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };
const HEADERS = { "sec-fetch-site": "same-origin" };

beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
});

const file = (name: string, ...lines: string[]) => ({
  name,
  mimeType: "application/octet-stream",
  buffer: Buffer.from(lines.join("\n")),
});

/** A file on this machine until the end of the test: the browser reads it itself, which spares a large one its copies. */
function fileOnDisk(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "recon-imports-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const BROKEN = '{"entry_id":"e3","callback":"<b>"}';

test("a file is imported from the page, its result has every count and rejected line, and a second browser sees it", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await eye.goto("/health");
  await eye.getByRole("link", { name: "Ledger imports" }).click();
  await eye.getByText("Nothing was imported.").waitFor();
  await eye.locator('#connection[data-state="live"]').waitFor();
  await mary.goto("/imports");
  await mary
    .getByLabel("File", { exact: true })
    .setInputFiles(file("new.ndjson", exampleEntryLine("e1"), exampleEntryLine("e2"), BROKEN, ""));
  await mary.getByRole("button", { name: "Import", exact: true }).focus();
  await mary.keyboard.press("Enter");
  await mary.waitForURL("**/imports/1");
  const figures = async () =>
    (await mary.getByLabel("Result by line").locator("dd").allInnerTexts()).join(" ");
  expect(await figures()).toBe("2 0 0 0 1");
  expect(await mary.locator("main").innerText()).toContain("imported by writer on the page");
  expect(await mary.getByRole("region", { name: "Rejected lines" }).locator("tbody tr").innerText()).toMatch(
    /^3\t.*request_id, .* and received_at are missing/,
  );
  const row = eye.locator("#import-1");
  // It is listed from its beginning on.
  await row.getByText("some rejected").waitFor();
  expect((await row.innerText()).replace(/\s+/g, " ")).toMatch(
    /^#1 new\.ndjson .* 0 s ago writer on the page entries 2 0 0 0 1 some rejected$/,
  );
  await mary.goto("/imports");
  await mary
    .getByLabel("File", { exact: true })
    .setInputFiles(file("again.ndjson", exampleEntryLine("e1"), exampleEntryLine("e2", { bet_amount: 11 })));
  await mary.getByRole("button", { name: "Import", exact: true }).click();
  await mary.waitForURL("**/imports/2");
  expect(await figures()).toBe("0 1 1 0 0");
  const audit = await sql<
    { details: string }[]
  >`select who, details from audit_log where route = '/imports' order by id`;
  expect(audit).toHaveLength(2);
  expect(JSON.parse(audit[0]?.details ?? "")).toMatchObject({
    format: "entries",
    name: "new.ndjson",
    lines: { lines: 3 },
  });
});

test("the example lines of the page can be imported, and a file of which every line is rejected is named so", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  for (const [title, name] of [
    ["An entry as a line of JSON", "one.ndjson"],
    ["The same entry as CSV", "same.csv"],
  ] as const) {
    await page.goto("/imports");
    await page.getByText("Example lines").click();
    const example = await page.getByRole("group", { name: title }).innerText();
    await page.getByLabel("File", { exact: true }).setInputFiles(file(name, example));
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: /^Import \d done$/ }).waitFor();
  }
  await page.goto("/imports");
  await page.getByLabel("File", { exact: true }).setInputFiles(file("broken.ndjson", BROKEN));
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("heading", { name: "Import 3 all rejected" }).waitFor();
  const counts = (await page.getByLabel("Result by line").locator("dd").allInnerTexts()).join(" ");
  expect(counts).toBe("0 0 0 0 1");
});

test("a file that cannot be used is named next to its field, nothing is taken, and the choice of the format stays", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  const lines = Array.from({ length: 10_001 }, (_, index) => exampleEntryLine(`e${index}`));
  for (const [format, sent, said] of [
    [
      "callbacks",
      file("entries.ndjson", exampleEntryLine("e1")),
      "these lines are entries, not callbacks. Nothing was imported",
    ],
    ["entries", file("nothing.csv"), "nothing.csv is empty: choose a file that has lines"],
    ["entries", file("picture.png", "\u0089PNG"), "the file is neither JSON lines"],
    [
      "callbacks",
      fileOnDisk("long.ndjson", lines.join("\n")),
      "long.ndjson has 10001 lines, but may have 10000",
    ],
    ["entries", fileOnDisk("large.ndjson", "x".repeat(18 * 1024 * 1024)), "the file is larger than 16 MB"],
  ] as const) {
    await page.goto("/imports");
    await page.getByLabel("Its lines are").selectOption(format);
    await page.getByLabel("File", { exact: true }).setInputFiles(sent);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    const problem = page.getByRole("alert");
    await problem.waitFor();
    expect(await problem.innerText()).toContain(said);
    expect(await page.getByLabel("File", { exact: true }).getAttribute("aria-invalid")).toBe("true");
    if (!said.includes("16 MB")) expect(await page.getByLabel("Its lines are").inputValue()).toBe(format);
  }
  const [counts] = await sql`
    select (select count(*) from ledger_imports) as imports, (select count(*) from callback_entries) as entries`;
  expect(counts).toEqual({ imports: 0, entries: 0 });
});

test("what no form sends is refused: another body, an unknown format, no file", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: WRITE_TOKEN });
  const multipart = { format: "books", file: file("x.ndjson", exampleEntryLine("e1")) };
  const send = async (options: object) =>
    (await page.request.post("/imports", { headers: HEADERS, maxRedirects: 0, ...options })).status();
  expect(await send({ form: { format: "entries" } })).toBe(400);
  expect(await send({ multipart })).toBe(400);
  expect(await send({ multipart: { format: "entries" } })).toBe(400);
  expect(
    await send({
      headers: { ...HEADERS, "content-type": "multipart/form-data; boundary=x" },
      data: "--y",
    }),
  ).toBe(400);
  expect(await sql`select from ledger_imports`).toHaveLength(0);
  for (const id of ["7", "x"]) expect((await page.goto(`/imports/${id}`))?.status()).toBe(404);
});

test("the list also has what programs sent; an import that never ended is unknown, and all go after 400 days", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const source = {
    who: "cli:ops",
    via: "command",
    format: "callbacks",
    name: "books.ndjson",
    bytes: null,
  } as const;
  await beginImport(sql, source, NOON);
  const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
  const answer = await page.request.post("/api/ledger/entries", {
    headers: { authorization: `Bearer ${WRITE_TOKEN}`, "content-type": "application/x-ndjson" },
    data: Buffer.from(`${exampleEntryLine("e1")}\n`),
  });
  expect(await answer.json()).toMatchObject({ added: 1 });
  await page.goto("/imports");
  const rows = (await page.locator("tbody tr").allInnerTexts()).map((row) => row.replace(/\s+/g, " "));
  expect(rows).toEqual([
    expect.stringMatching(/^#2 .*writer through the API entries 1 0 0 0 0 done$/),
    expect.stringMatching(/^#1 books\.ndjson .*cli:ops by command callbacks unknown unknown .* not ended$/),
  ]);
  await page.goto("/imports/1");
  await page.getByText("Still running, or its process was killed.").waitFor();
  clock.advance(400 * 24 * HOUR_MS + HOUR_MS);
  await dropExpired(context, new AbortController().signal);
  expect(await sql`select from ledger_imports`).toHaveLength(0);
});
