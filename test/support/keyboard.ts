/** A user without a pointer: what the Tab key reaches, and how. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

const FOLLOW = readFileSync(join(import.meta.dirname, "follow-tab.js"), "utf8");
/** The number of presses that need no answer before the next one. */
const AT_ONCE = 25;
/** More than any page has. */
const MOST_PRESSES = 1_000;

/**
 * Presses Tab from the beginning of the page until the focus has been everywhere.
 * @returns one line for each thing that is not reached, or reached out of order or unseen; the last line if the focus is caught
 */
export async function walkByTab(page: Page): Promise<string[]> {
  await page.evaluate(`window.walk = ${FOLLOW}`);
  for (let presses = 0; presses < MOST_PRESSES; presses += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => page.keyboard.down("Tab")));
    if (await page.evaluate("window.walk.isRound()")) {
      await page.keyboard.up("Tab");
      return (await page.evaluate("window.walk.report()")) as string[];
    }
  }
  const [last] = (await page.evaluate("[document.activeElement.outerHTML.slice(0, 100)]")) as string[];
  return [`${last}: the focus is caught`];
}

/**
 * Presses Tab until the focus is on an element, which then ignores further presses. @throws Error that says that the keyboard does
 * not reach it
 */
export async function tabTo(page: Page, selector: string): Promise<void> {
  const isReached = `document.activeElement.matches(${JSON.stringify(selector)})`;
  await page.evaluate(`{
    window.stayThere = (event) => { if (event.key === "Tab" && ${isReached}) event.preventDefault(); };
    addEventListener("keydown", window.stayThere);
  }`);
  for (let presses = 0; presses < MOST_PRESSES; presses += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => page.keyboard.down("Tab")));
    await page.keyboard.up("Tab");
    if (await page.evaluate(isReached)) {
      await page.evaluate("removeEventListener('keydown', window.stayThere)");
      return;
    }
  }
  throw new Error(`the keyboard does not reach ${selector}`);
}
