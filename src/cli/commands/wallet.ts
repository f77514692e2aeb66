/** `recon wallet`: shows balances of the built-in wallet, and credits players by hand. */

import type { Command } from "commander";
import { creditWallet, readWallets, type Wallet } from "../../callbacks/wallet-store.ts";
import { ReconError } from "../../errors.ts";
import { formatAmount, formatMoney, parseAmount } from "../../money.ts";
import { withRecon } from "../run/run-command.ts";
import { printJson, printLine, printTable, showText } from "../terminal/print.ts";

interface WalletOptions {
  readonly username: string;
  readonly currency?: string;
  readonly json?: boolean;
}
interface CreditOptions extends WalletOptions {
  readonly currency: string;
  readonly amount: string;
  readonly ref: string;
}

export function addWalletCommands(program: Command): void {
  const wallet = program.command("wallet").description("the built-in wallet that recon callbacks moves");
  wallet
    .command("credit")
    .description("give money to a player, or take money back; the first credit creates the player")
    .requiredOption("--username <username>", "which player")
    .requiredOption("--currency <code>", "the currency, such as THB")
    .requiredOption("--amount <amount>", "a decimal; negative takes back, but never below zero")
    .requiredOption("--ref <ref>", "your own reference; one reference counts once")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: CreditOptions) => {
        const credited = await creditWallet(context.sql, readCredit(options), context.clock.now());
        if (options.json) printJson({ wallet: toJson(credited), credited: credited.credited });
        else printCredit(credited, options.ref);
      }),
    );
  wallet
    .command("show")
    .description("show a player's balances")
    .requiredOption("--username <username>", "which player")
    .option("--currency <code>", "only this currency")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: WalletOptions) => {
        const username = readName(options.username, "--username");
        const currency = options.currency === undefined ? null : readName(options.currency, "--currency");
        const wallets = await readWallets(context.sql, username, currency);
        if (wallets.length === 0) throw noWallet(username, currency);
        if (options.json) printJson({ wallets: wallets.map(toJson) });
        else printWallets(wallets);
      }),
    );
}

function readCredit(options: CreditOptions) {
  return {
    username: readName(options.username, "--username"),
    currency: readName(options.currency, "--currency"),
    amount: readAmount(options.amount),
    ref: readName(options.ref, "--ref"),
  };
}

/** The longest name of a player in a callback. */
const LONGEST_NAME_BYTES = 512;

function readName(text: string, option: string): string {
  if (text !== "" && Buffer.byteLength(text) <= LONGEST_NAME_BYTES) return text;
  throw new ReconError("usage", `${option} must have from 1 to ${LONGEST_NAME_BYTES} bytes`);
}

function readAmount(text: string) {
  try {
    return parseAmount(text, "--amount");
  } catch (error) {
    throw new ReconError("usage", (error as ReconError).message, { cause: error });
  }
}

function noWallet(username: string, currency: string | null): ReconError {
  const what = currency === null ? "no wallet" : `no wallet in ${currency}`;
  return new ReconError(
    "not-found",
    `the player "${showText(username)}" has ${showText(what)}: a first "recon wallet credit" creates it`,
  );
}

function toJson({ username, currency, balance }: Wallet) {
  return { username, currency, balance: formatAmount(balance) };
}

function printCredit(wallet: Wallet & { readonly credited: boolean }, ref: string): void {
  const has = `${wallet.username} has ${formatMoney(wallet.balance, wallet.currency)}`;
  printLine(showText(wallet.credited ? has : `"${ref}" was credited before: nothing changed, ${has}`));
}

function printWallets(wallets: readonly Wallet[]): void {
  printTable(
    ["PLAYER", "BALANCE"],
    wallets.map(({ username, balance, currency }) => [username, formatMoney(balance, currency)]),
  );
}
