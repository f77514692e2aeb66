/** Credits that an operator gives to a wallet by hand, and the balances of wallets. */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { inReadCommitted } from "../db/transactions.ts";
import { ReconError } from "../errors.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";

interface Credit {
  readonly username: string;
  readonly currency: string;
  /** signed: a negative amount is debited */
  readonly amount: Amount;
  /** the operator's own reference; the same one cannot count twice */
  readonly ref: string;
}

export interface Wallet {
  readonly username: string;
  readonly currency: string;
  readonly balance: Amount;
}

/**
 * Changes a balance by hand; the first credit creates the player. Repeating a credit has no effect.
 * @returns the wallet after the credit, and whether this call changed it
 * @throws ReconError `conflict` if the ref was used for another credit, or the balance would fall below zero
 */
export async function creditWallet(
  sql: Sql,
  credit: Credit,
  now: Instant,
): Promise<Wallet & { readonly credited: boolean }> {
  const { username, currency, ref } = credit;
  const amount = formatAmount(credit.amount);
  return await inReadCommitted(sql, async (tx) => {
    const added = await tx`
      insert into wallet_credits (ref, username, currency, amount, at)
      values (${ref}, ${username}, ${currency}, ${amount}::numeric, ${now}) on conflict do nothing returning ref`;
    if (added.length === 0) return { ...(await repeatedCredit(tx, credit)), credited: false };
    const [row] = await tx<{ balance: string }[]>`
      insert into wallets (username, currency, balance, created_at)
      values (${username}, ${currency}, ${amount}::numeric, ${now})
      on conflict (username, currency) do update set balance = wallets.balance + excluded.balance
      returning balance`;
    const balance = parseAmount(row?.balance ?? "0", "balance");
    if (credit.amount.lt("0") && balance.lt("0")) {
      throw new ReconError(
        "conflict",
        `--amount ${amount} would leave "${username}" with ${formatAmount(balance)} ${currency}: nothing was changed`,
      );
    }
    return { username, currency, balance, credited: true };
  });
}

async function repeatedCredit(tx: Query, credit: Credit): Promise<Wallet> {
  const [first] = await tx<{ username: string; currency: string; amount: string }[]>`
    select username, currency, amount from wallet_credits where ref = ${credit.ref}`;
  const isSame =
    first?.username === credit.username &&
    first.currency === credit.currency &&
    parseAmount(first.amount, "amount").eq(credit.amount);
  if (!isSame) {
    throw new ReconError(
      "conflict",
      `--ref "${credit.ref}" was used for another credit (${first?.amount} ${first?.currency} for "${first?.username}"): nothing was changed`,
    );
  }
  const [wallet] = await readWallets(tx, credit.username, credit.currency);
  if (wallet === undefined) throw new Error(`internal error: the credit "${credit.ref}" has no wallet`);
  return wallet;
}

/** The wallets of a player, sorted by currency. @param currency null: all currencies */
export async function readWallets(sql: Query, username: string, currency: string | null): Promise<Wallet[]> {
  const rows = await sql<{ username: string; currency: string; balance: string }[]>`
    select username, currency, balance from wallets
    where username = ${username} and (${currency}::text is null or currency = ${currency}::text) order by currency`;
  return rows.map((row) => ({ ...row, balance: parseAmount(row.balance, "balance") }));
}
