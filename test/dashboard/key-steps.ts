/** The main step of each page of the crowded world, by keyboard alone. */

import type { FileChooser, Page } from "playwright-core";
import { describeError } from "../../src/errors.ts";
import { exampleEntryLine } from "../support/examples.ts";
import { tabTo } from "../support/keyboard.ts";

interface Step {
  /** the selector of what Tab leads to */
  readonly to: string;
  readonly type?: string;
  readonly press?: string;
  /** The press opens the next page, on which the next step is made. What that step needs may stand on this page too. */
  readonly opens?: true;
}

interface KeyTask {
  /** the name of its page */
  readonly page: string;
  readonly steps: readonly Step[];
  /** the address at the end, or a part of it */
  readonly url?: string;
  /** what the page then reports */
  readonly notice?: string;
}

/** Those that no other test does by keyboard. None changes what an other page needs. */
export const KEY_TASKS: readonly KeyTask[] = [
  filter("incidents", "product", "TABLE"),
  filter("coverage", "product", "TABLE"),
  filter("rejected", "reason", "id must"),
  filter("transfers", "username", "player"),
  filter("trends", "span", "30 days", "span=month"),
  filter("alerts", "product", "TABLE"),
  { page: "search", steps: [{ to: "main [name=q]", type: "bet-7", press: "Enter" }], url: "q=bet-7" },
  { page: "health", steps: [{ to: 'main a[href="/imports"]', press: "Enter" }], url: "/imports" },
  {
    page: "report",
    steps: [
      { to: "[name=month]", type: "2026-10" },
      { to: 'form[aria-label="Month"] button', press: "Enter" },
    ],
    url: "month=2026-10",
  },
  {
    page: "incident",
    steps: [
      { to: "#act textarea", type: "asked them" },
      { to: "#act button[value=ack]", press: "Space", opens: true },
      { to: "main form button", press: "Enter" },
    ],
    notice: "2 mismatches acknowledged",
  },
  {
    page: "backfills",
    steps: [
      { to: "main [name=to]", type: "2026-11-20 00:00" },
      { to: "main form button", press: "Enter", opens: true },
      { to: "#plan button", press: "Space" },
    ],
    notice: "Backfill 2 is queued.",
  },
  {
    page: "backfill",
    steps: [
      { to: '[action$="/pause"] button', press: "Enter", opens: true },
      { to: '[action$="/resume"] button', press: "Enter" },
    ],
    notice: "Backfill 1 is queued.",
  },
  {
    page: "a rejected one",
    steps: [{ to: "#retry button", press: "Enter" }],
    notice: "record-1 still cannot be used",
  },
  {
    page: "imports",
    steps: [
      { to: "main [type=file]", press: "File" },
      { to: "main form button", press: "Enter" },
    ],
    url: "/imports/3",
  },
  {
    page: "time zone",
    steps: [
      { to: "[name=zone]", type: "Asia/Tokyo" },
      { to: "main form button", press: "Enter" },
    ],
    notice: "Times are shown in Asia/Tokyo.",
  },
];

function filter(
  page: string,
  name: string,
  type: string,
  url = `${name}=${type.replace(" ", "+")}`,
): KeyTask {
  const steps = [
    { to: `main [name=${name}]`, type },
    { to: "main form button", press: "Enter" },
  ];
  return { page, steps, url };
}

/** @throws Error that names the page, and the element whose keys did nothing */
export async function doSteps(page: Page, { page: name, steps, url, notice }: KeyTask): Promise<void> {
  // It listens from the beginning: the browser takes a while to give up its own dialog.
  const choosing = steps.some(({ press }) => press === "File") ? page.waitForEvent("filechooser") : null;
  let last = "";
  try {
    for (const { to, type, press, opens } of steps) {
      await page.waitForSelector(to);
      last = to;
      await tabTo(page, to);
      // A field that Tab leads to is selected, so that the keys replace its text.
      if (type !== undefined) await page.keyboard.type(type);
      const opened = opens ? page.waitForEvent("load") : null;
      // It fails if the press fails too, and then it is not awaited.
      opened?.catch(() => {});
      if (press !== undefined) await page.keyboard.press(press === "File" ? "Enter" : press);
      await opened;
      if (press === "File") await choosing?.then(chooseFile);
    }
    if (url !== undefined) await page.waitForURL((at) => at.href.includes(url));
    if (notice !== undefined) await page.locator("#notice").getByText(notice).waitFor();
  } catch (error) {
    const problem = `the page "${name}" (${page.url()}) did not do what the keys asked at ${last}`;
    throw new Error(`${problem}: ${describeError(error)}`, { cause: error });
  }
}

async function chooseFile(chooser: FileChooser): Promise<void> {
  const buffer = Buffer.from(exampleEntryLine("by-keyboard"));
  await chooser.setFiles({ name: "new.ndjson", mimeType: "application/octet-stream", buffer });
}
