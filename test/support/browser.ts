/** A real Chromium for tests of pages: what a visitor sees, types and reaches by keyboard. */

import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterEach, expect } from "vitest";
import { findChromium } from "./chromium.ts";

/** No traffic of its own to the network, root in a container, and few processes: all pages are ours. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  // Without it Chromium looks for a Vulkan driver, and ends if there is none.
  "--disable-software-rasterizer",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--in-process-gpu",
  "--disable-site-isolation-trials",
  "--renderer-process-limit=1",
  // A page lives for a second: to compile its scripts into fast code takes longer than they run.
  "--js-flags=--no-sparkplug --no-maglev --no-opt",
];

/** Pages are laid out and obey keys, but nothing draws them, which is a fifth of a page's work. */
const UNDRAWN = "--disable-threaded-compositing";

/** What has not come by then never comes. A test must fail on its wait before its own time-out. */
const LONGEST_WAIT_MS = 180_000;

interface Visit {
  /** the base of paths such as "/mismatches" */
  readonly baseUrl: string;
  /** signs in with this token first */
  readonly token?: string;
  readonly colorScheme?: "light" | "dark";
  readonly reducedMotion?: "reduce" | "no-preference";
  /** CSS pixels; default: a wide screen */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** the zone of the visitor's clock; default: UTC */
  readonly timezoneId?: string;
  /** true: a phone, whose pointer is a finger */
  readonly hasTouch?: boolean;
  /** false: a visitor without scripts */
  readonly scripts?: boolean;
  /** false: nothing draws the pages. No test may click there: a click waits for a drawn frame */
  readonly drawn?: boolean;
}

export interface TestBrowser {
  /** A page of a visitor of its own, whose cookies no other page shares. Closed at the end of the test. */
  newPage(visit: Visit): Promise<Page>;
}

/** @throws Error that says what to do, if there is no Chromium */
export async function launchChromium(...more: readonly string[]): Promise<Browser> {
  const { executablePath, environment } = await findChromium();
  return await chromium.launch({
    executablePath,
    args: [...FLAGS, ...more],
    env: { ...process.env, ...environment },
  });
}

/**
 * The browsers of this process, by whether they draw. They serve all its test files, and end with the process: no visit
 * shares anything with another one.
 */
const browsers = new Map<boolean, Promise<Browser>>();

function browserOf({ drawn = true }: Visit): Promise<Browser> {
  const running = browsers.get(drawn);
  if (running !== undefined) return running;
  const launched = launchChromium(...(drawn ? [] : [UNDRAWN]));
  browsers.set(drawn, launched);
  const forget = () => browsers.delete(drawn);
  launched.then((browser) => browser.once("disconnected", forget), forget);
  return launched;
}

/**
 * Call at the top of a test file. A test fails if one of its pages has a script error, a missing asset or a violation of
 * the Content-Security-Policy.
 */
export function useBrowser(): TestBrowser {
  const visits: BrowserContext[] = [];
  const problems: string[] = [];
  afterEach(async () => {
    const found = problems.splice(0);
    await Promise.all(visits.splice(0).map((visit) => visit.close()));
    expect(found, "what went wrong in the test's pages").toEqual([]);
  });
  return {
    newPage: async (visit) => {
      const context = await openVisit(await browserOf(visit), visit);
      visits.push(context);
      const page = await context.newPage();
      page.setDefaultTimeout(LONGEST_WAIT_MS);
      noteProblems(page, (problem) => problems.push(problem));
      return page;
    },
  };
}

/** The cookies and preferences of one visitor, who is signed in if a token is given. */
export async function openVisit(browser: Browser, visit: Visit): Promise<BrowserContext> {
  const { baseUrl, token, colorScheme, reducedMotion = "reduce", scripts = true } = visit;
  const context = await browser.newContext({
    baseURL: baseUrl,
    colorScheme: colorScheme ?? "light",
    reducedMotion,
    javaScriptEnabled: scripts,
    viewport: visit.viewport ?? { width: 1280, height: 900 },
    locale: "en-GB",
    hasTouch: visit.hasTouch ?? false,
    isMobile: visit.hasTouch ?? false,
    timezoneId: visit.timezoneId ?? "UTC",
  });
  if (token !== undefined) {
    const answer = await context.request.post("/sign-in", { form: { token }, maxRedirects: 0 });
    if (answer.status() !== 303) throw new Error(`the sign-in was answered with ${answer.status()}`);
  }
  return context;
}

function noteProblems(page: Page, note: (problem: string) => void): void {
  // A page may be answered with 400 or 404 on purpose; its assets may not.
  const visited = new Set<string>();
  page.on("request", (request) => {
    if (request.isNavigationRequest()) visited.add(request.url());
  });
  page.on("pageerror", (error) => note(`a script failed: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    const isAnswer = message.text().startsWith("Failed to load resource: the server responded with");
    if (!(isAnswer && visited.has(message.location().url))) {
      note(`${message.text()} (${message.location().url})`);
    }
  });
  page.on("dialog", async (dialog) => {
    note(`a dialog opened: ${dialog.message()}`);
    await dialog.dismiss();
  });
}

interface AxeViolation {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What `findBarriers` loads into a page that lacks it. A visit of many pages has it compiled once as an init script. */
export const BARRIERS_SCRIPT = axe.source;

/**
 * Off, because none of their problems counts. axe-core's types leave out its table of rules, which alone says how grave the
 * problems of a rule are.
 */
const MILD_RULES = Object.fromEntries(
  (axe as unknown as { _audit: { rules: { id: string; impact: string | null }[] } })._audit.rules
    .filter(({ impact }) => impact === "minor" || impact === "moderate")
    .map(({ id }) => [id, { enabled: false }]),
);

/**
 * What axe-core finds on the page that is a serious or critical problem for users with disabilities.
 * @param rules the ids of those to check; null: all whose problems count
 */
export async function findBarriers(
  page: Page,
  rules: readonly string[] | null = null,
): Promise<readonly object[]> {
  // Its selectors of elements are not read, and its copies of the stylesheets serve no rule that is on.
  const options = { resultTypes: ["violations"], preload: false, selectors: false };
  const asked = JSON.stringify({
    ...options,
    ...(rules === null ? { rules: MILD_RULES } : { runOnly: rules }),
  });
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(BARRIERS_SCRIPT);
  const violations = (await page.evaluate(
    `axe.run(document, ${asked}).then((results) => results.violations)`,
  )) as readonly AxeViolation[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => ({
      rule: `${id}: ${help}`,
      where: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
    }));
}

/** Fails if the page has a barrier for users with disabilities. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await findBarriers(page), `accessibility of ${page.url()}`).toEqual([]);
}

/** Fails if the page itself needs sideways scrolling. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [inside, whole] = (await page.evaluate(
    "[document.documentElement.clientWidth, document.documentElement.scrollWidth]",
  )) as [number, number];
  expect(whole, `width of what ${page.url()} shows`).toBeLessThanOrEqual(inside);
}
