/** `recon provider`: each endpoint of the agent API by hand. */

import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { parseInstant } from "../../../clock.ts";
import { describeError, ReconError } from "../../../errors.ts";
import { findProduct } from "../../../flows/context.ts";
import { checkOrder, type TransferOrder } from "../../../flows/verify/send-transfer.ts";
import { checkRequest } from "../../../provider/requests.ts";
import type { TransferType } from "../../../transfer.ts";
import { EXIT_FAILED } from "../../run/run-command.ts";
import { showText } from "../../terminal/print.ts";
import { asUsage, type CallOptions, callProvider, callTransfer, readProvider } from "./call-provider.ts";
import { addLogInCommands } from "./provider-log-in.ts";

/**
 * @param action the action, such as "deposit 10.00 THB"
 * @returns whether the person has confirmed
 * @throws ReconError `usage` without a terminal
 */
async function confirmAction(action: string, { yes }: { readonly yes?: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!stdin.isTTY) {
    throw new ReconError(
      "usage",
      `nothing was sent: there is no terminal to confirm in. To ${showText(action)}, add --yes.`,
    );
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await terminal.question(`${showText(action)}? [y/N] `);
    if (/^y(es)?$/i.test(answer.trim())) return true;
  } finally {
    terminal.close();
  }
  stderr.write("recon: nothing was sent\n");
  process.exitCode = EXIT_FAILED;
  return false;
}

interface ProductOptions extends CallOptions {
  readonly product: string;
}

interface PlayerOptions extends ProductOptions {
  readonly username: string;
}

export function addProviderCommands(program: Command): void {
  const provider = program
    .command("provider")
    .description(
      "call one endpoint of the agent API by hand, and print its answer; asks before it moves money",
    );
  addLogInCommands(provider);
  addListCommand(
    provider,
    "seamless-games",
    "GET /seamless/games (§4.B2): the games of a product",
    (one, id) => one.listSeamlessGames(id),
  );
  addBetCommand(provider);
  addListCommand(
    provider,
    "freeGameList",
    "GET /seamless/freeGameList (§4.B4): the free games of a product",
    (one, id) => one.listFreeGames(id),
  );
  addTopUpCommand(provider);
  addMoveCommand(provider, "deposit", "DEPOSIT", "POST /deposit (§4.C2): credit to a player at a product");
  addMoveCommand(provider, "withdraw", "WITHDRAW", "POST /withdraw (§4.C3): credit back from a product");
  addVerifyCommand(provider);
  addListCommand(
    provider,
    "games",
    "GET /games (§4.C5): the games of a product in transfer mode",
    (one, id) => one.listTransferGames(id),
  );
  addLimitCommand(provider);
  addFreeGameCommand(provider);
}

type ListOf = (
  provider: Parameters<Parameters<typeof callProvider>[2]>[0],
  productId: string,
) => Promise<unknown>;

function addListCommand(parent: Command, name: string, description: string, list: ListOf): void {
  parent
    .command(name)
    .description(description)
    .requiredOption("--product <product>", "the product")
    .option("--json", "the answer as one JSON document")
    .action((options: ProductOptions) =>
      callProvider(readProvider(), options, (one) => list(one, options.product)),
    );
}

interface BetOptions extends ProductOptions {
  readonly date?: string;
  readonly from?: string;
  readonly to?: string;
  readonly nextId?: string;
}

function addBetCommand(parent: Command): void {
  parent
    .command("betTransactionsV2")
    .description("GET /seamless/betTransactionsV2 (§4.B3): one chunk of bet records, by range or by day")
    .requiredOption("--product <product>", "the product")
    .option("--from <time>", "the beginning of the range, such as 2026-11-20T10:00:00Z")
    .option("--to <time>", "the end of the range, at most an hour later")
    .option("--date <date>", "instead of a range: a day such as 2026-11-20; providers often time out")
    .option("--next-id <cursor>", "the nextId of the chunk before")
    .option("--json", "the answer as one JSON document")
    .action(async (options: BetOptions) => {
      const { product: productId, date, from, to, nextId = null } = options;
      if (date !== undefined && from === undefined && to === undefined) {
        await callProvider(readProvider(), options, (one) => one.fetchBetDay({ productId, date, nextId }));
        return;
      }
      if (date !== undefined || from === undefined || to === undefined) {
        throw new ReconError("usage", "give either --from and --to, or --date");
      }
      const range = { from: readTime("--from", from), to: readTime("--to", to) };
      const request = { productId, ...range, nextId };
      const never = new AbortController().signal;
      await callProvider(readProvider(), options, (one) => one.fetchBetPage(request, never));
    });
}

function readTime(name: string, text: string): number {
  try {
    return parseInstant(text, name);
  } catch (error) {
    throw new ReconError("usage", describeError(error));
  }
}

interface TopUpOptions extends CallOptions {
  readonly username: string;
  readonly transactionId: string;
  readonly product?: string;
  readonly path?: string;
}

function addTopUpCommand(parent: Command): void {
  parent
    .command("verify-topup")
    .description("POST /<topUpPath>/verify-topup (§4.B5): whether a top-up of a game in play happened")
    .requiredOption("--username <username>", "which player")
    .requiredOption("--transaction-id <id>", "the refId of its adjustBalance callback")
    .option("--product <product>", "the product whose topUpPath the config has")
    .option("--path <segment>", "instead of --product: the path segment itself, such as P1_seamless")
    .option("--json", "the answer as one JSON document")
    .action(async (options: TopUpOptions) => {
      const { username, transactionId } = options;
      const hand = readProvider();
      const path = options.path ?? topUpPathOf(hand.config, options.product);
      await callProvider(hand, options, (one) => one.verifyTopUp(path, { username, transactionId }));
    });
}

function topUpPathOf(config: Parameters<typeof findProduct>[0], productId: string | undefined): string {
  if (productId === undefined) throw new ReconError("usage", "give either --product or --path");
  const { topUpPath } = findProduct(config, productId);
  if (topUpPath !== null) return topUpPath;
  throw new ReconError(
    "usage",
    `product "${productId}" has no topUpPath in the config: set it, or give --path`,
  );
}

interface MoveOptions extends PlayerOptions {
  readonly amount: string;
  readonly ref: string;
  readonly currency: string;
  readonly yes?: boolean;
}

function addMoveCommand(
  parent: Command,
  name: "deposit" | "withdraw",
  type: TransferType,
  description: string,
): void {
  parent
    .command(name)
    .description(`${description}. recon records the transfer first, and verifies it`)
    .requiredOption("--username <username>", "which player")
    .requiredOption("--product <product>", "the product")
    .requiredOption("--amount <amount>", "with two decimals, such as 10.00")
    .requiredOption("--currency <currency>", "such as THB; not sent, but compared during the verification")
    .requiredOption("--ref <reference>", "a transactionRef that was never used before")
    .option("--yes", "do not ask for confirmation")
    .option("--json", "the answer as one JSON document")
    .action(async (options: MoveOptions) => {
      const { username, product: productId, amount, currency, ref: transactionRef } = options;
      const order: TransferOrder = { username, productId, amount, currency, transactionRef };
      const hand = readProvider(["database"]);
      checkFirst(() => checkOrder(order));
      const where = `at ${productId} of ${new URL(hand.provider.baseUrl).host}, as ${transactionRef}`;
      const action = `${name} ${amount} ${currency} for ${username} ${where}`;
      if (await confirmAction(action, options)) await callTransfer(hand, options, type, order);
    });
}

/** Reports wrong values before the question to the person. */
function checkFirst(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw asUsage(error);
  }
}

function addVerifyCommand(parent: Command): void {
  parent
    .command("verifyDepositWithdraw")
    .description("POST /verifyDepositWithdraw (§4.C4): whether a transfer happened")
    .requiredOption("--username <username>", "which player")
    .requiredOption("--product <product>", "the product")
    .requiredOption("--ref <reference>", "the transactionRef")
    .requiredOption("--type <type>", "DEPOSIT or WITHDRAW")
    .option("--json", "the answer as one JSON document")
    .action(async (options: PlayerOptions & { ref: string; type: string }) => {
      const { username, product: productId, ref: transactionRef } = options;
      const type = options.type.toUpperCase() as TransferType;
      await callProvider(readProvider(), options, (one) =>
        one.verifyDepositWithdraw({ username, productId, transactionRef, type }),
      );
    });
}

function addLimitCommand(parent: Command): void {
  parent
    .command("betLimitsV2")
    .description("GET /betLimitsV2 (§4.C6): the limits that a login can choose from")
    .requiredOption("--username <username>", "which player")
    .requiredOption("--product <product>", "the product")
    .requiredOption("--currency <currency>", "such as THB")
    .option("--json", "the answer as one JSON document")
    .action(async (options: PlayerOptions & { currency: string }) => {
      const { username, product: productId, currency } = options;
      await callProvider(readProvider(), options, (one) =>
        one.listBetLimits({ username, productId, currency }),
      );
    });
}

interface FreeGameOptions extends PlayerOptions {
  readonly name: string;
  readonly expiresInHours: string;
  readonly betAmount: string;
  readonly gameCount: string;
  readonly gameIds: string;
  readonly yes?: boolean;
}

function addFreeGameCommand(parent: Command): void {
  parent
    .command("free-game")
    .description(
      "POST /free-game (§4.C7): games that the operator pays for; a repeated request may grant them twice",
    )
    .requiredOption("--username <username>", "which player")
    .requiredOption("--product <product>", "the product")
    .requiredOption("--name <name>", "of the free game")
    .requiredOption("--expires-in-hours <hours>", "whole hours")
    .requiredOption("--bet-amount <amount>", "of each game; whole")
    .requiredOption("--game-count <count>", "how many")
    .requiredOption("--game-ids <ids>", "the id of the game")
    .option("--yes", "do not ask for confirmation")
    .option("--json", "the answer as one JSON document")
    .action(async (options: FreeGameOptions) => {
      const request = {
        playerName: options.username,
        freeGameName: options.name,
        expiresInHours: Number(options.expiresInHours),
        betAmount: Number(options.betAmount),
        gameCount: Number(options.gameCount),
        gameIds: options.gameIds,
        productId: options.product,
      };
      const hand = readProvider();
      checkFirst(() => checkRequest("free-game", request));
      const action = `grant ${request.gameCount} free games of ${request.betAmount} each to ${request.playerName} at ${request.productId} of ${new URL(hand.provider.baseUrl).host}`;
      if (await confirmAction(action, options)) {
        await callProvider(hand, options, (one) => one.grantFreeGame(request));
      }
    });
}
