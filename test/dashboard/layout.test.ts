import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openChannels } from "../../src/alerts/open-channels.ts";
import { withOffset } from "../../src/clock.ts";
import type { OwnWorker } from "../../src/ops/own-worker.ts";
import { expectAccessible, useBrowser } from "../support/browser.ts";
import { READ_TOKEN, serveDashboard, TOKENS } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { type CrowdedWorld, openCrowdedWorld } from "./crowded-world.ts";

const MEASURE = readFileSync(join(import.meta.dirname, "../support/measure-layout.js"), "utf8");
const TARGETS = readFileSync(join(import.meta.dirname, "../support/measure-targets.js"), "utf8");
const WIDTHS = [320, 390, 768, 1024, 1400, 2560];
const THEMES = ["light", "dark"] as const;

const { sql } = useDatabase();
const browser = useBrowser();
let world: CrowdedWorld;

beforeAll(async () => {
  world = await openCrowdedWorld(sql);
});

afterAll(() => world.close());

test("every page keeps everything in its place, at six widths in both themes, and is accessible", async () => {
  const worker: OwnWorker = {
    channels: openChannels(
      { webhook: null, slack: { url: "http://127.0.0.1:1/" } },
      { host: "127.0.0.1", port: 3000 },
    ),
    hasHeartbeat: true,
    queuesIn: "PostgreSQL",
    countJobs: async () => [],
  };
  const page = await browser.newPage({ baseUrl: await serveDashboard(world.context, [], { worker }) });
  const found: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(world.paths)) {
    await page.goto(path);
    const heads = await page.locator("main thead th").allTextContents();
    expect([name, heads.filter((head) => /^\p{Ll}/u.test(head))]).toEqual([name, []]);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const wrong = (await page.evaluate(MEASURE)) as string[];
        if (wrong.length > 0) found[`${name}, ${width} px, ${colorScheme}`] = wrong;
      }
      await page.setViewportSize({ width: colorScheme === "light" ? 320 : 1400, height: 900 });
      await expectAccessible(page);
    }
  }
  expect(found).toEqual({});
});

test("on a phone no link, button or field is too small for a finger", async () => {
  const viewport = { width: 390, height: 844 };
  const page = await browser.newPage({
    baseUrl: await serveDashboard(world.context),
    viewport,
    hasTouch: true,
  });
  const found: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(world.paths)) {
    await page.goto(path);
    const small = (await page.evaluate(TARGETS)) as string[];
    const misplaced = (await page.evaluate(MEASURE)) as string[];
    if (small.length + misplaced.length > 0) found[name] = [...small, ...misplaced].slice(0, 6);
  }
  expect(found).toEqual({});
});

describe("a person's time zone", () => {
  const BANGKOK = "Asia/Bangkok";
  const happened = 'main time[datetime="2026-11-20T11:55:00.000Z"] >> nth=0';

  test("is the browser's: the first page already shows it, with UTC in the title, and files stay in UTC", async () => {
    const baseUrl = await serveDashboard(world.context);
    const page = await browser.newPage({ baseUrl, timezoneId: BANGKOK });
    await page.goto("/mismatches");
    await page.getByText(`All times are ${BANGKOK}.`).waitFor();
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 18:55:00");
    expect(await page.locator(happened).getAttribute("title")).toBe("2026-11-20 11:55:00 UTC");
    expect(await (await page.request.get("/mismatches.csv")).text()).toContain("2026-11-20T11:55:00.000Z");
    await page.goto("/");
    await page.getByRole("link", { name: "Fri 20 Nov 2026, 16:00 to 17:00: gap" }).first().waitFor();
  });

  test("is that of each typed time without an offset, and of none that has one", async () => {
    const baseUrl = await serveDashboard(world.context);
    const page = await browser.newPage({ baseUrl, timezoneId: BANGKOK });
    await page.goto("/coverage");
    await page.getByText(`All times are ${BANGKOK}.`).waitFor();
    await page.getByLabel("product").selectOption("TABLE");
    await page.getByLabel("from").fill("2026-11-20 16:00");
    await page.getByLabel("to", { exact: true }).fill("2026-11-20T10:00:00Z");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("TABLE is not complete: 1 h missing.").waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe("2026-11-20T16:00+07:00");
    await page.goto("/mismatches");
    await page.getByLabel("First seen from").fill("2026-11-20T19:00");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL("**/mismatches?from=2026-11-20T19%3A00%2B07%3A00");
    expect(await page.getByLabel("First seen from").inputValue()).toBe("2026-11-20T19:00");
  });

  test("can be chosen, also without scripts and by a person who may only read", async () => {
    const baseUrl = await serveDashboard(world.context, TOKENS);
    const page = await browser.newPage({ baseUrl, token: READ_TOKEN, scripts: false });
    await page.goto("/mismatches?status=open");
    await page.getByRole("link", { name: "Change the time zone" }).click();
    await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
    await page.getByRole("button", { name: "Choose" }).click();
    expect(new URL(page.url()).pathname).toBe("/mismatches");
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 20:55:00");
    await page.getByRole("link", { name: "Change the time zone" }).click();
    await page.getByLabel("Time zone").selectOption("the browser's");
    await page.getByRole("button", { name: "Choose" }).click();
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 11:55:00");
  });

  test.each([
    ["2026-11-20 10:00", BANGKOK, "2026-11-20T10:00+07:00"],
    ["2026-11-20T10:00:30.5", "UTC", "2026-11-20T10:00:30.5Z"],
    ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T02:30+02:00"],
    ["2026-03-29T02:30", "Europe/Berlin", null],
    ["2026-11-20T10:00Z", BANGKOK, null],
    ["2026-02-30T10:00", BANGKOK, null],
    ["yesterday", BANGKOK, null],
  ])("reads %s in %s as %s", (text, zone, expected) => {
    expect(withOffset(text, zone)).toBe(expected);
  });
});

test("each wrong value is named next to its field, and nothing typed is lost", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(world.context) });
  for (const [path, fields] of [
    ["/mismatches?kind=lost&minAmount=much&from=yesterday&username=anna", ["kind", "minAmount", "from"]],
    ["/mismatches?product=NOPE&kind=lost&status=bar", ["product", "kind", "status"]],
    ["/coverage?product=TABLE&from=soon&to=later", ["from", "to"]],
    ["/coverage?product=NOPE&from=soon&to=2026-11-20T12:00Z", ["from", "product"]],
    ["/backfills?product=NOPE&from=soon&to=2026-11-20T12:00Z", ["from", "product"]],
    ["/backfills?product=gone&from=2026-11-19T00:00:00Z&to=2026-11-20T00:00:00Z", ["product"]],
    ["/transfers?status=lost&username=anna", ["status"]],
    ["/rejected?kind=lost&since=soon", ["kind", "since"]],
    ["/report?day=2026-11-31&zone=UTC", ["day"]],
    ["/report?day=2026-11-19&zone=Mars", ["zone"]],
    ["/alerts?state=lost&product=TABLE", ["state"]],
    ["/time-zone?zone=Mars", ["zone"]],
  ] as const) {
    const asked = new URLSearchParams(path.split("?")[1]);
    expect([path, (await page.goto(path))?.status()]).toEqual([path, 400]);
    expect([path, await page.locator("[aria-invalid=true]").count()]).toEqual([path, fields.length]);
    for (const name of fields) {
      const field = page.locator(`main [name=${name}]`);
      expect([path, await field.inputValue()]).toEqual([path, asked.get(name)]);
      const problem = page.locator(`#${await field.getAttribute("aria-describedby")}`);
      expect(await problem.innerText()).toContain(asked.get(name) ?? "");
    }
    for (const [name, value] of asked)
      expect(await page.locator(`main [name=${name}]`).inputValue()).toBe(value);
  }
});
