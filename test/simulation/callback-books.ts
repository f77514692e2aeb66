/** The auditor of the wallets: compares their contents with the ledger's entries and with the world's own books. */

import type { CallbackEntry } from "../../src/callback.ts";
import type { Sql } from "../../src/db/client.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../src/money.ts";
import type { CallbackScript } from "./callback-script.ts";
import type { CallbackSender } from "./callback-sender.ts";

/** Amounts by player and currency. */
type WalletSums = ReadonlyMap<string, Amount>;

function walletName({ username, currency }: { username: string; currency: string }): string {
  return JSON.stringify([username, currency]);
}

/** One entry of each wallet. */
export function walletsOf(entries: readonly CallbackEntry[]): CallbackEntry[] {
  return [...new Map(entries.map((entry) => [walletName(entry), entry])).values()];
}

/** The sum that the world's wallet moved if the world says so, otherwise the requested sum. */
function sumWorld(entries: readonly CallbackEntry[], singleState: ReadonlyMap<string, boolean>): WalletSums {
  const sums = new Map<string, Amount>();
  const add = (wallet: string, amount: Amount) => sums.set(wallet, (sums.get(wallet) ?? ZERO).plus(amount));
  const players = Map.groupBy(entries, ({ productId, username }) => JSON.stringify([productId, username]));
  for (const played of players.values()) {
    const settings = { singleState: singleState.get(played[0]?.productId ?? "") ?? false };
    for (const bet of foldEntries(played, settings)) add(walletName(bet), bet.moved);
    for (const entry of played.filter(({ callback }) => callback === "adjustBalance")) {
      const asked = (entry.payoutAmount ?? ZERO).minus(entry.betAmount ?? ZERO);
      add(walletName(entry), entry.moved ?? asked);
    }
  }
  return sums;
}

/**
 * One line for each wallet whose balance is not its credits plus its movements, by its entries, by the world's books and by
 * the operator's answer; and one for each item that is not in the ledger exactly once.
 */
export async function auditMoney(
  sql: Sql,
  script: CallbackScript,
  singleState: ReadonlyMap<string, boolean>,
  sender: Pick<CallbackSender, "readBalance">,
): Promise<string[]> {
  const direct = script.direct.map(({ entryId }) => entryId);
  const world = sumWorld(script.sent, singleState);
  const rows = await sql<WalletRow[]>`
    select w.username, w.currency, w.balance,
      (select coalesce(sum(amount), 0) from wallet_credits c
        where c.username = w.username and c.currency = w.currency) as credits,
      (select coalesce(sum(moved), 0) from callback_entries e where e.username = w.username
        and e.currency = w.currency and e.entry_id <> all(${direct}::text[])) as moved
    from wallets w`;
  const wallets = new Map(rows.map((row) => [walletName(row), row]));
  const problems: string[] = [];
  for (const entry of walletsOf(script.sent)) {
    const row = wallets.get(walletName(entry));
    const answered = await sender.readBalance(entry);
    const moved = world.get(walletName(entry)) ?? ZERO;
    const problem = row === undefined ? "is not there" : findWalletFault(row, moved, answered);
    if (problem !== null) problems.push(`the wallet of "${entry.username}" in ${entry.currency} ${problem}`);
  }
  return [...problems, ...(await auditEntries(sql, script, direct))];
}

interface WalletRow {
  readonly username: string;
  readonly currency: string;
  readonly balance: string;
  readonly credits: string;
  readonly moved: string;
}

/** @param answered the answer of checkBalance */
function findWalletFault(row: WalletRow, worldMoved: Amount, answered: Amount | null): string | null {
  const balance = parseAmount(row.balance, "balance");
  const credits = parseAmount(row.credits, "credits");
  const holds = `holds ${row.balance} after credits of ${row.credits}`;
  if (!balance.eq(credits.plus(parseAmount(row.moved, "moved"))))
    return `${holds}: its entries moved ${row.moved}`;
  if (!balance.eq(credits.plus(worldMoved))) return `${holds}: the world moved ${formatAmount(worldMoved)}`;
  if (!answered?.eq(balance))
    return `${holds}: the operator answers ${answered === null ? "nothing" : formatAmount(answered)}`;
  return null;
}

async function auditEntries(sql: Sql, script: CallbackScript, direct: readonly string[]): Promise<string[]> {
  const rows = await sql<{ name: [string, string, string, string] }[]>`
    select jsonb_build_array(product_id, callback, request_id, txn_id) as name
    from callback_entries where entry_id <> all(${direct}::text[])`;
  const counts = new Map<string, number>();
  for (const name of rows.map((row) => JSON.stringify(row.name)))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = script.requests.flat().filter(({ answer }) => answer === "taken");
  const expected = taken.flatMap(({ items }) =>
    items.map((item) => JSON.stringify([item.productId, item.callback, item.requestId, item.txnId])),
  );
  const surplus = new Set(expected).symmetricDifference(new Set(counts.keys()));
  return [
    ...expected
      .filter((name) => counts.get(name) !== 1)
      .map((name) => `${name}: ${counts.get(name) ?? 0} entries`),
    ...[...surplus].filter((name) => counts.has(name)).map((name) => `${name} must not be in the ledger`),
  ];
}
