/** By a real clock there is new time at every tick. Old time must be fetched again all the same. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { WORKER } from "../simulation/crew.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, useHttpProvider } from "../support/http-provider.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-old-time-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a quiet product's old time is fetched again at each age: a changed result and a late record are found, and rows of the ledger are read again", async () => {
  await sql`create table wallet_rows as select * from callback_entries where false`;
  const products = ["P1", "P2", "P3", "P4"];
  const config = join(folder, "recon.config.json");
  writeFileSync(
    config,
    JSON.stringify({
      products: products.map((productId) => ({ productId })),
      pull: { every: "PT1S", settleDelay: "PT0S", overlap: "PT0S", resweepAfter: ["PT8S", "PT16S"] },
      diff: { every: "PT1S" },
      ledger: { relation: "wallet_rows" },
    }),
  );
  const worker = startRecon(
    [WORKER.name],
    {
      DATABASE_URL: url,
      PROVIDER_BASE_URL: provider.url(),
      PROVIDER_USERNAME: "agent",
      PROVIDER_PASSWORD: "secret",
      RECON_CONFIG: config,
      OPS_PORT: "0",
    },
    WORKER.awaited,
  );
  onTestFinished(() => worker.kill("SIGKILL"));
  expect(await worker.ready).toBe(true);
  // Changed, and listed, when this time is out of reach of live pulling.
  const playedAt = systemClock.now() + 1_000;
  const time = JSON.stringify(formatInstant(playedAt));
  const listed = (id: string, payout: string, from: number) => ({
    item: betItem({
      ...{ id: JSON.stringify(id), betId: JSON.stringify(id), productId: '"P1"', payout },
      ...{ accountingDate: time, updatedDate: JSON.stringify(formatInstant(from)) },
    }),
    from,
  });
  const changed = [listed("changed", "0", playedAt), listed("changed", "20", playedAt + 5_000)] as const;
  const late = listed("late", "0", playedAt + 5_000);
  provider.answer((asked) => {
    const now = systemClock.now();
    if (asked.parameters["productId"] !== "P1" || playedAt < asked.from || playedAt >= asked.to)
      return page([]);
    const shown = [changed.findLast(({ from }) => from <= now), late.from <= now ? late : undefined];
    return page(shown.flatMap((one) => one?.item ?? []));
  });
  const records = () => sql<{ id: string; payout: string }[]>`select id, payout from bet_records order by id`;
  const stored = [
    { id: "changed", payout: "20" },
    { id: "late", payout: "0" },
  ];
  await eventually(
    "old time was fetched again",
    async () => JSON.stringify(await records()) === JSON.stringify(stored),
  );
  const swept = () => sql`
    select product_id from windows where kind = 'resweep' and status = 'done'
    group by product_id having count(distinct due_at - to_at) = 2`;
  await eventually("each product's time was fetched at both ages", async () => (await swept()).count === 4);
  await eventually(
    "the ledger was read again",
    async () => (await sql`select from ledger_rereads`).count > 0,
  );
  expect(await records()).toEqual(stored);
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});
