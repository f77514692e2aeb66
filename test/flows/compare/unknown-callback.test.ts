/** Rows that came past the triggers, from a superuser's session or from before they were safe. */

import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { amount, exampleEntry } from "../../support/examples.ts";
import { useDiffWorld } from "./comparison-world.ts";

const { sql, url, diffAt, receive, ledgerBegins } = useDiffWorld();
const program = postgres(url, { max: 1, onnotice: () => {} });
afterAll(() => program.end());

test("an entry with an unknown callback stops its bet alone, and the reason names it", async () => {
  await ledgerBegins();
  await program.unsafe("alter table callback_entries disable trigger user");
  await receive(
    exampleEntry({
      entryId: "steal",
      txnId: "bet-7",
      roundId: "round-7",
      callback: "stealMoney" as "placeBets",
    }),
    exampleEntry({ entryId: "nan", txnId: "bet-8", roundId: "round-8" }),
  );
  await program.unsafe("update callback_entries set moved = 'NaN' where entry_id = 'nan'");
  await program.unsafe(`alter table callback_entries enable trigger user;
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array_agg(username), array_agg(round_id), array_agg(txn_id), max(received_at)
    from callback_entries where entry_id in ('steal', 'nan') group by product_id`);
  await receive(exampleEntry({ entryId: "ok", txnId: "bet-9", roundId: "round-9", betAmount: amount("5") }));
  await diffAt(100);
  expect(await sql`select subject, reason from comparisons_set_aside order by subject`).toEqual([
    {
      subject: "round:round-7",
      reason: expect.stringMatching(
        /^entry "steal" of callback_entries has the callback "stealMoney", which is none of placeBets, .* correct or delete the row/,
      ),
    },
    { subject: "round:round-8", reason: expect.stringContaining("moved") },
  ]);
});
