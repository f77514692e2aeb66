/** The operator's view is dropped while the worker runs, and comes back some minutes later. */

import { atMost, type SaturationCase, same, someProblem } from "../case.ts";
import { isAlerted, whileWorking } from "../standing-still.ts";

const config = {
  products: [{ productId: "P1" }, { productId: "P2" }],
  ledger: { relation: "casino.ledger" },
};

export const saturation: SaturationCase = {
  name: "dropped-view",
  what: "somebody drops the view of the ledger under a running worker",
  run: (report) =>
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
      async ({ sql, secondsUntil, status, overviewSaysWell, beats }) => {
        report(atMost("seconds until all is well", await secondsUntil(overviewSaysWell, 180), 150));
        await sql`drop view casino.ledger`;
        const alerted = await secondsUntil(() => isAlerted(sql, "ledger-unreadable"), 180);
        report(atMost("seconds until the alert", alerted, 120));
        report(someProblem("what the status says", (await status()).comparing.problem));
        report(same("the overview says that all is well", String(await overviewSaysWell()), "false"));
        const beatsBefore = beats.length;
        await secondsUntil(() => false, 130);
        report(atMost("heartbeats in two minutes", beats.length - beatsBefore, 1));
        await sql`create view casino.ledger as select * from casino.log`;
        const over = await secondsUntil(() => isAlerted(sql, "ledger-unreadable-over"), 180);
        report(atMost("seconds until the all-clear", over, 120));
        const wellAgain = await secondsUntil(overviewSaysWell, 180);
        report(atMost("seconds from there until all is well", wellAgain, 120));
      },
    ),
};
