/** The output of an embedded start for the person at the terminal: what runs, and each new mismatch. */

import { type Clock, showDuration } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Sql } from "../../db/client.ts";
import { listMismatches } from "../../mismatches/store.ts";
import type { GuideStep } from "../../ops/dashboard/overview/guide.ts";
import { printLine, showText } from "../terminal/print.ts";
import { showAtRisk } from "./mismatches/mismatches.ts";

/** The most new mismatches that are listed at once; further ones are only counted. */
const LISTED_AT_ONCE = 12;
/** The overview shows the whole guide. */
const GUIDED = 3;
const CHECK_EVERY_MS = 1_000;

export function announceStart(facts: {
  readonly config: Config;
  readonly database: string;
  readonly queues: string;
  readonly provider: string;
  /** whether the products and graces are those of a start without settings */
  readonly isOwnConfig: boolean;
  readonly opsUrl: string;
  readonly guide: readonly GuideStep[];
}): void {
  const { diff } = facts.config;
  const graces = `callbacks ${showDuration(diff.callbackGrace)}, provider ${showDuration(diff.providerGrace)}`;
  printLine(
    facts.isOwnConfig
      ? "wallet-recon runs. PROVIDER_BASE_URL is not set, so a provider for trying out runs beside it:"
      : "wallet-recon runs. There are no settings, so this start has a world of its own for trying out:",
  );
  printLine(`  database   ${facts.database}`);
  printLine(`  queues     ${facts.queues}`);
  printLine(`  provider   ${facts.provider}`);
  printLine(
    `  graces     ${graces}${facts.isOwnConfig ? "" : ": short, so that you can watch; by default they are 15 min and 1 h"}`,
  );
  printLine(`  dashboard  ${facts.opsUrl}/ in a browser, or ${facts.opsUrl}/api/mismatches`);
  printLine();
  if (facts.isOwnConfig) return;
  printLine("Look around in a browser:");
  for (const { what, path } of facts.guide.slice(0, GUIDED)) printLine(`  ${facts.opsUrl}${path}  ${what}`);
  printLine();
  printLine(
    "The two days are fetched and compared within a minute or so. Ctrl-C ends everything; the next start continues.",
  );
  printLine();
}

/** Prints each mismatch once, until the signal aborts. */
export async function announceMismatches(sql: Sql, clock: Clock, signal: AbortSignal): Promise<void> {
  let after: string | null = null;
  let hintShown = false;
  while (!signal.aborted) {
    const filter = { statuses: [], kind: null, productId: null, username: null, limit: 1000, after };
    const { mismatches } = await listMismatches(sql, filter);
    for (const one of mismatches.slice(0, LISTED_AT_ONCE)) {
      const what = `${one.kind.padEnd(19)}  ${one.productId.padEnd(6)}  ${showAtRisk(one).padStart(16)} at risk`;
      printLine(`#${one.id.padEnd(4)} ${what}  ${showText(one.username)}: ${showText(one.reason)}`);
    }
    if (mismatches.length > LISTED_AT_ONCE) printLine(`… and ${mismatches.length - LISTED_AT_ONCE} more`);
    after = mismatches.at(-1)?.id ?? after;
    if (!hintShown && mismatches.length > 0) {
      hintShown = true;
      printLine();
      printLine(
        `To see them in another terminal: npx recon mismatches list, npx recon mismatches show ${mismatches[0]?.id}`,
      );
      printLine();
    }
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
}
