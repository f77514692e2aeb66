/** What is wrong on a page for those who see it, touch it, hear it or use its keys. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { BARRIERS_SCRIPT, findBarriers } from "../support/browser.ts";
import { walkByTab } from "../support/keyboard.ts";

/** The script of test/support, which is one expression. */
const read = (name: string) =>
  readFileSync(join(import.meta.dirname, "../support", name), "utf8").replace(/;\s*$/, "");
/** Chromium compiles what comes with every document once, and what is evaluated on a page anew for each page. */
const SCRIPTS = `
  window.measureLayout = () => ${read("measure-layout.js")};
  window.measureTargets = () => ${read("measure-targets.js")};`;
const HEIGHT = 900;
const GROUND = "getComputedStyle(document.body).backgroundColor";

/** Each list holds what is wrong. */
export interface Audit {
  readonly status: number;
  readonly isLive: boolean;
  readonly hasSteps: boolean;
  readonly misplaced: readonly string[];
  readonly barriers: readonly object[];
  readonly smallForFingers: readonly string[];
  readonly unreachedByTab: readonly string[];
  readonly lowercaseHeads: readonly string[];
}

/** Loads each page once, and checks it at six widths and in both themes. The themes differ only in their colours. */
export async function auditPages(
  page: Page,
  paths: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, Audit>>> {
  await page.addInitScript(`${BARRIERS_SCRIPT}${SCRIPTS}`);
  const pointer = await page.context().newCDPSession(page);
  const audits: Record<string, Audit> = {};
  for (const [name, path] of Object.entries(paths)) {
    const misplaced: string[] = [];
    const measureAt = async (width: number) => {
      await page.setViewportSize({ width, height: HEIGHT });
      const found = (await page.evaluate("measureLayout()")) as string[];
      misplaced.push(...found.map((one) => `${width} px: ${one}`));
    };
    const status = (await page.goto(path))?.status() ?? 0;
    await page.emulateMedia({ colorScheme: "light" });
    await measureAt(320);
    const barriers = [...(await findBarriers(page))];
    const ground = await page.evaluate(GROUND);

    await pointer.send("Emulation.setTouchEmulationEnabled", { enabled: true });
    await measureAt(390);
    if (!(await page.evaluate("matchMedia('(pointer: coarse)').matches"))) throw new Error("no finger");
    const smallForFingers = (await page.evaluate("measureTargets()")) as string[];
    await pointer.send("Emulation.setTouchEmulationEnabled", { enabled: false });

    for (const width of [768, 1024, 2560]) await measureAt(width);
    await page.emulateMedia({ colorScheme: "dark" });
    await measureAt(1400);
    barriers.push(...(await findBarriers(page, ["color-contrast"])));
    if ((await page.evaluate(GROUND)) === ground) barriers.push({ rule: `the dark theme is ${ground} too` });
    const heads = await page.locator("main thead th").allTextContents();
    audits[name] = {
      status,
      isLive: (await page.locator('main[data-live]:not([data-live=""])').count()) > 0,
      hasSteps: (await page.locator('main form[method="post"]').count()) > 0,
      misplaced,
      barriers,
      smallForFingers,
      // The last: it leaves parts of the page scrolled.
      unreachedByTab: await walkByTab(page),
      lowercaseHeads: heads.filter((head) => /^\p{Ll}/u.test(head)),
    };
  }
  return audits;
}
