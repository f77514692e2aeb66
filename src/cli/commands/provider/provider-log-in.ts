/** `recon provider logIn` and `seamless-logIn`: get the address of a game for a player, by hand. */

import { type Command, Option } from "commander";
import { ReconError } from "../../../errors.ts";
import { type CallOptions, callProvider, readProvider } from "./call-provider.ts";

interface LogInOptions extends CallOptions {
  readonly username: string;
  readonly product: string;
  readonly game: string;
  readonly mobile?: boolean;
  readonly limit?: string;
  readonly language?: string;
  readonly callbackUrl?: string;
  readonly betLimit?: string;
}

interface SeamlessOptions extends LogInOptions {
  readonly sessionToken: string;
  readonly currency?: string;
}

export function addLogInCommands(parent: Command): void {
  logInCommand(parent, "seamless-logIn", "POST /seamless/logIn (§4.B1): logs a player into a game")
    .requiredOption("--session-token <token>", "a token of your choice; checkBalance sends it back")
    .option("--currency <currency>", "such as THB; default: the agent's currency")
    .action(async (options: SeamlessOptions) => {
      const { sessionToken, currency } = options;
      const betLimit = readJson(options.betLimit) as unknown[] | undefined;
      const request = { ...readLogIn(options), ...given({ sessionToken, currency, betLimit }), sessionToken };
      await callProvider(readProvider(), options, (one) => one.logInSeamless(request));
    });
  logInCommand(parent, "logIn", "POST /logIn (§4.C1): logs a player into a game in transfer mode").action(
    async (options: LogInOptions) => {
      const betLimit = readJson(options.betLimit) as object | undefined;
      const request = { ...readLogIn(options), ...given({ betLimit }) };
      await callProvider(readProvider(), options, (one) => one.logInTransfer(request));
    },
  );
}

function logInCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .requiredOption("--username <username>", "which player")
    .requiredOption("--product <product>", "which product")
    .requiredOption("--game <code>", "the code of the game, from the list of games")
    .option("--mobile", "for a phone")
    .option("--limit <level>", "a level of the list of bet limits")
    .option("--language <code>", "such as en; default th")
    .option("--callback-url <url>", "where the player goes after the game")
    .addOption(new Option("--bet-limit <json>", "in the format of the product"))
    .option("--json", "the answer as one JSON document");
}

function readLogIn(options: LogInOptions) {
  const { username, product: productId, game: gameCode, language, callbackUrl } = options;
  const limit = options.limit === undefined ? undefined : Number(options.limit);
  const isMobileLogin = options.mobile ?? false;
  return { username, productId, gameCode, isMobileLogin, ...given({ limit, language, callbackUrl }) };
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Keeps only the given options. */
function given<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Given<Fields>;
}

function readJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ReconError("usage", `--bet-limit must be JSON, but is "${text.slice(0, 60)}"`);
  }
}
