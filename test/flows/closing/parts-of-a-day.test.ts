import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { readClosedDays } from "../../../src/closing/closed-day-store.ts";
import { verifyArchive } from "../../../src/flows/archive/verify-archive.ts";
import { acceptGaps } from "../../../src/flows/closing/accept-gaps.ts";
import { countWaiting } from "../../../src/flows/closing/find-corrections.ts";
import { verifyChain } from "../../../src/flows/closing/read-statement.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { parseDay } from "../../../src/ops/input/report-query.ts";
import { correctionsOfAll } from "../../support/corrections.ts";
import { HOUR_MS } from "../../support/examples.ts";
import { checkArchive } from "../archive/independent-checker.ts";
import { newFolder } from "../archive/sealed-files.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const { sql, clock, diffAt, receive, listed } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant } = useClosing(sql, clock, {
  products: [{ productId: "P1" }, { productId: "P2" }],
});

/** A bet of each product, which both sides have; the provider lists no more of P2 from 20:00 on. */
beforeEach(async () => {
  for (const productId of ["P1", "P2"]) {
    const entry = { productId, txnId: `bet-${productId}`, roundId: `round-${productId}` };
    const settled = callbacksOf("20", entry).map((one) => ({
      ...one,
      entryId: `${one.entryId}-${productId}`,
    }));
    await receive(...settled);
    const record = {
      productId,
      id: `rec-${productId}`,
      betId: `bet-${productId}`,
      roundId: `round-${productId}`,
    };
    await listed(recordOf("20", record));
  }
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  await fetched(TODAY - DAY_MS, TODAY + 20 * HOUR_MS, "P2");
  await compared();
});

async function compared(): Promise<void> {
  for (const product of ["P1", "P2"]) await diffAt(13 * 60, { product });
}

const GONE =
  "P2 was not fetched from 2026-11-20 20:00:00Z to 2026-11-21 00:00:00Z (recon coverage says why).";
const accept = (day = "2026-11-20", note = "the vendor is gone") =>
  acceptGaps(context(), parseDay(day, "UTC"), { productIds: ["P2"], by: "cli:ops", note });
const partsLeft = async () =>
  (await sql<{ id: string }[]>`select product_id as id from closed_parts order by 1`).map(({ id }) => id);

describe("a product that cannot be fetched any more", () => {
  test("keeps the day open until its gap is accepted, and the statement then names the time, the person and the reason", async () => {
    expect(await close("2026-11-20")).toEqual({ day: "2026-11-20", reason: GONE });
    await accept();
    expect(await close("2026-11-20")).toMatchObject({
      isNew: true,
      closed: {
        rows: [
          { productId: "P1", complete: true, provider: { payout: "20" } },
          { productId: "P2", complete: false, provider: { payout: "20" } },
        ],
        acceptedGaps: [
          {
            productId: "P2",
            missing: [{ from: "2026-11-20T20:00:00.000Z", to: "2026-11-21T00:00:00.000Z" }],
            by: "cli:ops",
            note: "the vendor is gone",
            at: "2026-11-21T01:00:00.000Z",
          },
        ],
      },
    });
    expect(await partsLeft()).toEqual([]);
    expect(await verifyChain(context())).toEqual({ days: 1, flaw: null });
    await sql`update closed_days set statement = jsonb_set(statement, '{acceptedGaps,0,note}', '"it was a holiday"')`;
    expect((await verifyChain(context())).flaw?.what).toBe(
      "was altered: its statement does not have its hash",
    );
  });

  test("has what is fetched later as corrections", async () => {
    await accept();
    await close("2026-11-20");
    const at = { accountingDate: "2026-11-20T21:00:00Z", updatedDate: "2026-11-20T21:00:00Z" };
    await listed(recordOf("30", { productId: "P2", id: "late", betId: "late", roundId: "late", ...at }));
    await compared();
    await correct();
    expect(await correctionsOfAll(sql)).toMatchObject([
      {
        day: "2026-11-20",
        productId: "P2",
        betId: "late",
        before: { provider: { bets: 0 } },
        after: { provider: { payout: "30" } },
      },
    ]);
    await expectInvariant();
  });

  test("is named in the sealed files, too, which still prove the day's hash", async () => {
    const folder = await newFolder();
    await accept();
    await close("2026-11-20", "UTC", { closing: { archive: folder } });
    const [closed] = await readClosedDays(sql, 0, 1);
    expect(await verifyArchive(folder)).toMatchObject({ flaws: [], files: 2, last: { hash: closed?.hash } });
    expect(checkArchive(folder)).toEqual([]);
    const manifest = readFileSync(join(folder, "2026-11-20", "manifest.json"), "utf8");
    expect(JSON.parse(manifest)).toMatchObject({ acceptedGaps: [{ note: "the vendor is gone" }] });
  });

  test("has no correction on its way while a bet without a record waits for the missing time", async () => {
    const bet = {
      txnId: "waits",
      roundId: "waits",
      occurredAt: TODAY + 21 * HOUR_MS,
      receivedAt: TODAY + 21 * HOUR_MS,
    };
    const ofP2 = (entry: CallbackEntry) => ({
      ...entry,
      ...bet,
      productId: "P2",
      entryId: `${entry.entryId}-waits`,
    });
    await receive(...callbacksOf("20").map(ofP2));
    await compared();
    await accept();
    await close("2026-11-20");
    await correct();
    const range = { from: TODAY, to: TODAY + DAY_MS };
    const marks = await sql`select product_id from diff_marks where product_id = 'P2'`;
    await diffAt(18 * 60, { product: "P2" });
    expect([marks.length, [...(await countWaiting(context(), sql, range))]]).toEqual([1, []]);
    await listed(recordOf("30", { productId: "P1", id: "rec-P1", betId: "bet-P1", roundId: "round-P1" }));
    expect([...(await countWaiting(context(), sql, range))]).toEqual([["P1", 1]]);
  });

  test("does not stop the retention of the others", async () => {
    await accept();
    await close("2026-11-20");
    clock.set(TODAY + 100 * DAY_MS);
    const retain = { records: "P31D", entries: "P31D", mismatches: null };
    await dropClosed(context({ retain }), new AbortController().signal);
    expect(await sql`select product_id from bet_records`).toEqual([]);
  });

  test("has to be accepted again for each day, and an acceptance is forgotten if the day stays open", async () => {
    await sql`update work_states set up_to = ${TODAY} where work = 'comparing' and subject = 'P1'`;
    await sql`insert into work_states (work, subject, up_to) values ('comparing', 'P1', ${TODAY}) on conflict do nothing`;
    await accept();
    expect(await close("2026-11-20")).toEqual({
      day: "2026-11-20",
      reason:
        "Of P1, only what arrived until 2026-11-20 00:00:00Z has been compared (recon status says why).",
    });
    await sql`update work_states set up_to = ${TODAY + DAY_MS}`;
    expect(await close("2026-11-20")).toEqual({ day: "2026-11-20", reason: GONE });
    await accept();
    await close("2026-11-20");
    clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
    await sql`update work_states set up_to = ${TODAY + 3 * DAY_MS}`;
    expect(await close("2026-11-21")).toHaveProperty("reason", expect.stringMatching(/^P2 was not fetched/));
  });

  test("cannot be accepted for a product without a gap, for one that is not in the settings, or for a closed day", async () => {
    const refused = (productIds: string[], day = "2026-11-20") =>
      acceptGaps(context(), parseDay(day, "UTC"), { productIds, by: "cli:ops", note: "x" }).catch(
        ({ code, message }) => `${code}: ${message}`,
      );
    expect(await refused(["P1"])).toBe(
      "usage: P1 has no gap on 2026-11-20, so there is nothing to accept (recon coverage --product P1)",
    );
    expect(await refused(["P2", "P9"])).toBe('usage: there is no product "P9"; the config has P1, P2');
    expect(await refused(["P2"], "2026-12-20")).toMatch(
      /^conflict: no gap of 2026-12-20 can be accepted: it has not ended/,
    );
    expect(await partsLeft()).toEqual([]);
    await accept();
    await close("2026-11-20");
    expect(await refused(["P2"])).toBe(
      "conflict: no gap of 2026-11-20 can be accepted: the day was closed before",
    );
  });
});

describe("of a process that ends between two products", () => {
  /** Lets no bet of P2 be stored. */
  async function closeOnlyP1(): Promise<void> {
    await sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise 'killed'; end $$;
      create trigger refuse before insert on closed_bets for each row when (new.product_id = 'P2') execute function refuse()`);
    await expect(close("2026-11-20")).rejects.toThrow("killed");
    await sql.unsafe("drop trigger refuse on closed_bets; drop function refuse()");
  }

  test("the next one closes the other product, with the gap that was accepted, and a change in between is a correction", async () => {
    await accept();
    await closeOnlyP1();
    expect(await readClosedDays(sql, 0, 9)).toEqual([]);
    expect(await partsLeft()).toEqual(["P1", "P2"]);
    await listed(recordOf("25", { id: "rec-P1", betId: "bet-P1", roundId: "round-P1" }));
    await compared();
    expect(await correct()).toBe(0);
    expect(await close("2026-11-20")).toMatchObject({
      closed: { rows: [{ provider: { payout: "20" } }, {}], acceptedGaps: [{ note: "the vendor is gone" }] },
    });
    await correct();
    expect(await correctionsOfAll(sql)).toMatchObject([
      { betId: "bet-P1", before: { provider: { payout: "20" } }, after: { provider: { payout: "25" } } },
    ]);
    await expectInvariant();
  });

  test("nothing is left if the day then has to stay open, or gets other bounds", async () => {
    await accept();
    await closeOnlyP1();
    await sql`delete from closed_parts where product_id = 'P2'`;
    expect(await close("2026-11-20")).toEqual({ day: "2026-11-20", reason: GONE });
    expect([await partsLeft(), await sql`select from closed_bets`]).toEqual([[], []]);
    await accept();
    await closeOnlyP1();
    expect(await close("2026-11-20", "Asia/Bangkok")).toHaveProperty("closed.zone", "Asia/Bangkok");
    await expectInvariant();
  });
});
