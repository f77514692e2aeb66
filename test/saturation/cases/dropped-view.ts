/** The operator's view is dropped while the worker runs, and comes back some minutes later. */

import type { Check, SaturationCase } from "../case.ts";
import { inTime, isAlerted, whileWorking } from "../standing-still.ts";

const config = {
  products: [{ productId: "P1" }, { productId: "P2" }],
  ledger: { relation: "casino.ledger" },
};

export const saturation: SaturationCase = {
  name: "dropped-view",
  what: "somebody drops the view of the ledger under a running worker",
  run: () =>
    whileWorking(
      {
        config,
        workers: 1,
        inRedis: false,
        prepare: async (sql) => {
          await sql`create schema casino`;
          await sql`create table casino.log (like callback_entries including defaults)`;
          await sql`create view casino.ledger as select * from casino.log`;
          await sql`
            insert into casino.log (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
              skip_balance_update, occurred_at, received_at)
            values ('e', 'placeBets', 'e', 'P1', 'anna', 'THB', 'e', 'OPEN', false, now(), now())`;
        },
      },
      async ({ sql, secondsUntil, status, overviewSaysWell, beats }): Promise<Check[]> => {
        const beforeIt = await secondsUntil(overviewSaysWell, 180);
        await sql`drop view casino.ledger`;
        const alerted = await secondsUntil(() => isAlerted(sql, "ledger-unreadable"), 180);
        const { problem } = (await status()).comparing;
        const isWell = await overviewSaysWell();
        const beatsBefore = beats.length;
        await secondsUntil(() => false, 130);
        const beatsWhile = beats.length - beatsBefore;
        await sql`create view casino.ledger as select * from casino.log`;
        const over = await secondsUntil(() => isAlerted(sql, "ledger-unreadable-over"), 180);
        const wellAgain = await secondsUntil(overviewSaysWell, 180);
        return [
          {
            what: "seconds until all is well",
            value: beforeIt,
            bar: "≤ 150",
            holds: inTime(beforeIt, 150),
          },
          { what: "seconds until the alert", value: alerted, bar: "≤ 120", holds: inTime(alerted, 120) },
          {
            what: "what the status says",
            value: problem ?? "nothing",
            bar: "a problem",
            holds: problem !== null,
          },
          { what: "the overview says that all is well", value: String(isWell), bar: "false", holds: !isWell },
          { what: "heartbeats in two minutes", value: beatsWhile, bar: "≤ 1", holds: beatsWhile <= 1 },
          { what: "seconds until the all-clear", value: over, bar: "≤ 120", holds: inTime(over, 120) },
          {
            what: "seconds from there until all is well",
            value: wellAgain,
            bar: "≤ 120",
            holds: inTime(wellAgain, 120),
          },
        ];
      },
    ),
};
