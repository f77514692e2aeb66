/**
 * `npm run screenshots`: takes the README's pictures of every page, light and dark, from a seeded world of the sandbox. Seed
 * and clock are fixed, so a picture changes only if its page changed.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withDatabase } from "../../bench/support/database.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { launchChromium, openVisit } from "../support/browser.ts";
import { toPalettePng } from "./palette-png.ts";
import { openShop } from "./shop.ts";

const FOLDER = join(import.meta.dirname, "../../docs/screenshots");
const WIDE = { width: 1200, height: 800 };
const PHONE = { width: 390, height: 844 };
/** Beyond this height a picture shows nothing new. */
const MOST_HEIGHT = 1_300;
const PERSON = { name: "mali", role: "write", token: "a token for pictures" } as const;

interface Screenshot {
  readonly name: string;
  readonly path: string;
  readonly viewport: { readonly width: number; readonly height: number };
}

await withDatabase(async (sql) => {
  const shop = await openShop(sql);
  const settings = { host: "127.0.0.1", port: 0, tokens: [PERSON] };
  const server = await startOpsServer(shop.context, settings, async () => {});
  const browser = await launchChromium();
  try {
    await mkdir(FOLDER, { recursive: true });
    const shots: Screenshot[] = [
      { name: "overview", path: "/", viewport: WIDE },
      { name: "overview-phone", path: "/", viewport: PHONE },
      ...Object.entries(shop.paths).map(([name, path]) => ({ name, path, viewport: WIDE })),
    ];
    for (const colorScheme of ["light", "dark"] as const) {
      for (const { name, path, viewport } of shots) {
        const visit = await openVisit(browser, {
          baseUrl: server.url,
          token: PERSON.token,
          colorScheme,
          viewport,
        });
        const page = await visit.newPage();
        const answer = await page.goto(path);
        if (!answer?.ok()) throw new Error(`${path} was answered with ${answer?.status()}`);
        await page.waitForSelector('#connection:not([data-state="still"]), main[data-live=""]', {
          state: "attached",
        });
        const height = await page.evaluate("document.querySelector('footer').getBoundingClientRect().bottom");
        const clip = {
          x: 0,
          y: 0,
          width: viewport.width,
          height: Math.min(Math.ceil(Number(height)), MOST_HEIGHT),
        };
        const file = join(FOLDER, `${name}-${colorScheme}.png`);
        const picture = await page.screenshot({ clip, fullPage: true, animations: "disabled" });
        await writeFile(file, toPalettePng(picture));
        console.log(file);
        await visit.close();
      }
    }
  } finally {
    await browser.close();
    await server.close();
    await shop.close();
  }
});
