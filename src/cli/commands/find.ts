/** `recon find`: what an id belongs to, and what both sides have of that bet. */

import process from "node:process";
import type { Command } from "commander";
import { compareSides } from "../../flows/read/compare-sides.ts";
import { search } from "../../flows/read/search.ts";
import { describeSearch, type SearchAnswer } from "../../flows/read/search-answer.ts";
import { readSearch } from "../../ops/input/search-query.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { printJson, printLine, printTable, showText } from "../terminal/print.ts";

const HELP = `
  recon find bet-1            a bet, a round, a record, a transaction, a transfer or a request by its whole id
  recon find anna round-1     a round of one player, which is found fastest
  recon find anna             a player
  recon find 6                a mismatch or an incident by its number
Exit code 1: nothing was found.`;

export function addFindCommand(program: Command): void {
  program
    .command("find")
    .argument("<id...>", "an id, a player, a player and a round, or a number")
    .description("what an id belongs to, and what both sides have of that bet")
    .option("--json", "one JSON document")
    .addHelpText("after", HELP)
    .action((ids: string[], { json }: { readonly json?: boolean }) => {
      const query = readSearch({ q: ids.join(" ") });
      return withRecon(["database"], async ({ context }) => {
        const found = describeSearch(query, await search(context, query));
        if (isNothing(found)) process.exitCode = EXIT_FAILED;
        if (json) printJson(found);
        else printFound(found);
      })();
    });
}

function isNothing({ mismatch, incident, bets, player, transfers, requests }: SearchAnswer): boolean {
  const isOther = mismatch !== null || incident !== null || player !== null;
  return !isOther && bets.length + transfers.length + requests.length === 0;
}

function printFound(found: SearchAnswer): void {
  const { query, mismatch, incident, player } = found;
  if (mismatch !== null)
    printLine(
      `Mismatch ${mismatch.id}: ${mismatch.kind}, ${mismatch.status} (recon mismatches show ${mismatch.id})`,
    );
  if (incident !== null)
    printLine(
      showText(
        `Incident ${incident.id} at ${incident.productId}, ${incident.isOver ? "over" : "open"} (recon incidents show ${incident.id})`,
      ),
    );
  if (player !== null) printPlayer(query, player);
  for (const one of found.transfers) {
    const { kind, status, amount, currency, username, productId } = one;
    printLine(
      showText(`The ${kind} ${query}: ${status}, ${amount} ${currency} for ${username} at ${productId}`),
    );
    printNamed(one.mismatches);
  }
  for (const { callback, productId, balanceBefore, balanceAfter } of found.requests)
    printLine(
      showText(
        `The request ${query}: ${callback} of ${productId}, answered with success; balance ${balanceBefore} before, ${balanceAfter} after`,
      ),
    );
  for (const bet of found.bets) printBet(bet);
  if (found.hasMoreBets) printLine("There are more bets: search for one of their ids.");
  const { players, entries } = found.unsearched;
  if (players !== null)
    printLine(
      `For a round with this id, only ${players} players were searched: name the player too, as in "anna round-1".`,
    );
  if (entries !== null)
    printLine(`For a request with this id, only the newest ${entries} entries were searched.`);
  if (isNothing(found))
    printLine(
      "Nothing stored has this id. The search needs the whole id, in the same capital and small letters.",
    );
}

function printPlayer(name: string, { playsAt, undecided }: NonNullable<SearchAnswer["player"]>): void {
  const sums = undecided.map(
    ({ count, currency, amountAtRisk }) =>
      `${count} with ${amountAtRisk} ${currency ?? "of no currency"} at risk`,
  );
  const open =
    sums.length === 0
      ? "no mismatch is open or acknowledged"
      : `open or acknowledged mismatches: ${sums.join(", ")}`;
  printLine(showText(`The player ${name} plays at ${playsAt.join(", ")}; ${open}`));
}

function printBet(bet: SearchAnswer["bets"][number]): void {
  const { id, productId, username, roundId, provider, ledger, agrees, difference } = bet;
  const round = roundId === null ? "" : `, round ${roundId}`;
  printLine(showText(`The bet ${id}: ${productId}, player ${username}${round}`));
  const fields = compareSides({ kind: difference?.kind ?? "payout-differs", provider, ledger });
  if (fields.length > 0)
    printTable(
      ["", "provider", "ledger", ""],
      fields.map(({ name, differs, ...side }) => [
        name,
        side.provider ?? "-",
        side.ledger ?? "-",
        differs === true ? "differs" : "",
      ]),
    );
  if (difference !== null) printLine(showText(sayDifference(difference, bet.mismatches)));
  else if (agrees === true) printLine("Both sides agree about this bet.");
  else if (provider !== null && ledger !== null)
    printLine("Some values differ, and the comparison accepts that.");
  else if (provider === null && ledger === null)
    printLine("Neither side can be described: its records or entries are not complete.");
  else
    printLine(
      `Only the ${provider === null ? "ledger" : "provider"} has this bet so far, and the other side need not have it yet.`,
    );
  if (bet.countsOn !== null) printLine(`It counts in the statement of ${bet.countsOn}.`);
  printNamed(bet.mismatches);
}

function sayDifference(
  { reason, lacksDeleted }: NonNullable<SearchAnswer["bets"][number]["difference"]>,
  mismatches: SearchAnswer["bets"][number]["mismatches"],
): string {
  const isOpen = mismatches.some(({ status }) => status === "open" || status === "acknowledged");
  if (isOpen) return `The sides differ: ${reason}.`;
  return lacksDeleted
    ? `The sides differ, and no mismatch is opened: ${reason}. Rows that would explain it may be deleted (retain).`
    : `The sides differ, and no mismatch is open: ${reason}. Either its graces are not over, or ops have decided it.`;
}

function printNamed(mismatches: SearchAnswer["bets"][number]["mismatches"]): void {
  for (const { id, kind, status } of mismatches) printLine(`  mismatch ${id}: ${kind}, ${status}`);
}
