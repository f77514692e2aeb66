/** Changes by other users and programs in the crowded world while its pages are open. */

import type { Page } from "playwright-core";
import { recordAlert } from "../../src/alerts/store.ts";
import { writeClosedDay } from "../../src/closing/closed-day-store.ts";
import { hashOf } from "../../src/closing/statement.ts";
import type { Sql } from "../../src/db/client.ts";
import { beginImport, endImport } from "../../src/ledger/past-import-store.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { forgetRejectedRecords, writeRejected } from "../../src/sync/rejected-store.ts";
import { HOUR_MS } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import type { CrowdedWorld } from "./crowded-world.ts";

interface Change {
  /** the page on which it is seen */
  readonly at: string;
  /** @returns the selector of what then appears on the page */
  make(mary: Page): Promise<string>;
}

/** At least one for each kind of page that shows what changes. Later ones build on earlier ones. */
export function changesOf(sql: Sql, { context, paths }: CrowdedWorld): readonly Change[] {
  const now = context.clock.now();
  const on = (name: string) => paths[name] ?? "";
  const post = async (mary: Page, path: string, form: Record<string, string> = {}) => {
    const headers = { "sec-fetch-site": "same-origin" };
    const answer = await mary.request.post(path, { form, headers, maxRedirects: 0 });
    if (answer.status() !== 303) throw new Error(`${path} was answered with ${answer.status()}`);
  };
  const newest = async (table: string) => {
    const [row] = await sql<{ id: number }[]>`select max(id) as id from ${sql(table)}`;
    return row?.id ?? 0;
  };
  const open = async (fields: Partial<MismatchContent>) =>
    await openMismatches(sql, context.config, now, [{ productId: "TABLE", ...fields }]);
  const reject = async (raw: string) => {
    const rejected = [{ raw, reason: "id must be text" }];
    await sql.begin((tx) => writeRejected(tx, "TABLE", rejected, now));
  };
  const closeDay = async (number: number, day: string) => {
    const from = Date.parse(`${day}T00:00:00Z`);
    const range = { day, zone: "UTC", from, to: from + 24 * HOUR_MS };
    const statement = { ...range, rows: [], corrections: [], number, closedAt: now, previousHash: null };
    await writeClosedDay(sql, { ...statement, hash: hashOf(statement) });
  };
  const comment = (at: string): Change => ({
    at,
    make: async (mary) => {
      await post(mary, `${at}/comments`, { comment: "their ticket 12" });
      return '.comments li:has-text("their ticket 12")';
    },
  });
  return [
    {
      at: on("overview"),
      make: async () => {
        await open({ betId: "live-1", kind: "stake-differs" });
        return `#incident-${await newest("incidents")}`;
      },
    },
    {
      at: on("incidents"),
      make: async () => {
        await open({ betId: "live-2", kind: "missing-in-ledger", ledger: null });
        return `#incident-${await newest("incidents")}`;
      },
    },
    {
      at: on("mismatches"),
      make: async () => {
        await open({ betId: "live-3" });
        return `#m${await newest("mismatches")}`;
      },
    },
    comment(on("incident")),
    comment(on("mismatch")),
    {
      at: on("trends"),
      make: async () => {
        // Before the gap: later time is not known of all products, so it has no figures.
        const known = Date.parse("2026-11-20T06:00:00Z");
        await open({ betId: "live-4", occurredAt: known - 1 });
        const [row] = await sql`
          select count(*) as count from mismatches
          where status in ('open', 'acknowledged') and occurred_at < ${known}`;
        return `#open b:text-is("${row?.["count"]}")`;
      },
    },
    {
      at: on("search of a bet"),
      make: async () => {
        const bet = new URLSearchParams(on("search of a bet").split("?")[1]).get("q") ?? "";
        const [row] = await sql`select product_id, username from bet_records where bet_id = ${bet}`;
        await open({ betId: bet, productId: row?.["product_id"], username: row?.["username"] });
        return `main a[href="/mismatches/${await newest("mismatches")}"]`;
      },
    },
    {
      at: on("coverage"),
      make: async () => {
        const product = new URLSearchParams(on("coverage").split("?")[1]).get("product");
        await sql`
          update windows set status = 'gap' where id = (
            select min(id) from windows where product_id = ${product} and kind = 'live')`;
        return '.verdict:not([data-state="good"])';
      },
    },
    {
      at: on("backfills"),
      make: async (mary) => {
        await post(mary, "/backfills/1/pause");
        return '#backfill-1:has-text("paused")';
      },
    },
    {
      at: on("backfill"),
      make: async (mary) => {
        await post(mary, "/backfills/1/resume");
        return 'main h1:has-text("queued")';
      },
    },
    {
      at: on("report"),
      make: async () => {
        await closeDay(2, "2026-11-19");
        return "main >> text=/hash [0-9a-f]{64}/";
      },
    },
    {
      at: on("month"),
      make: async () => {
        await closeDay(3, "2026-11-20");
        return 'main p:has-text("3 closed days")';
      },
    },
    {
      at: on("closing a month"),
      make: async () => {
        await closeDay(4, "2026-11-21");
        return 'main table:not(:has-text("2026-11-21"))';
      },
    },
    {
      at: on("health"),
      make: async () => {
        await reject('{"id":1}');
        return 'main dd:has-text("2 records")';
      },
    },
    {
      at: on("rejected"),
      make: async () => {
        await reject('{"id":2}');
        return `main a[href="/rejected/record-${await newest("rejected_records")}"]`;
      },
    },
    {
      at: on("a rejected one"),
      make: async () => {
        await sql.begin((tx) => forgetRejectedRecords(tx, [1]));
        return 'main:has-text("there is no rejected record")';
      },
    },
    {
      at: on("alerts"),
      make: async () => {
        const body = { what: "TABLE is stalled", toDo: "Look." };
        const alert = { idempotencyKey: "live", kind: "product-stalled", productId: "TABLE", body, at: now };
        await recordAlert(sql, alert);
        return `#alert-${await newest("alerts")}`;
      },
    },
    {
      at: on("alert"),
      make: async () => {
        await sql`
          update alert_deliveries set attempts = 77 where alert_id = ${Number(on("alert").split("/").at(-1))}`;
        return 'main td:text-is("77")';
      },
    },
    {
      at: on("imports"),
      make: async () => {
        const source = { who: "mary", via: "command", format: "entries", name: null, bytes: null } as const;
        return `#import-${await beginImport(sql, source, now)}`;
      },
    },
    {
      at: "/imports/2",
      make: async () => {
        const totals = { added: 77, known: 0, changed: 0, skipped: 0, rejected: [], rejectedLines: 0 };
        await endImport(sql, 2, totals, null, now);
        return 'main dd:text-is("77")';
      },
    },
    {
      at: on("transfers"),
      make: async () => {
        await sql`
          insert into transfers overriding system value
          select (jsonb_populate_record(sent, '{"id": 9999, "transaction_ref": "deposit-2"}')).*
          from transfers sent where transaction_ref = 'deposit-1'`;
        return 'main td:has-text("deposit-2")';
      },
    },
    {
      at: on("transfer"),
      make: async (mary) => {
        await post(mary, `${on("transfer")}/close`, { note: "booked in their statement" });
        return 'main:has-text("booked in their statement")';
      },
    },
  ];
}
