/** Reads answers with log-ins, lists of games, bet limits and free games (§4.B, §4.C). */

import { isLosslessNumber } from "lossless-json";
import { ReconError } from "../errors.ts";
import type { BetLimitGroup, FreeGame, Game, SeamlessLogIn, TransferLogIn } from "../lobby.ts";
import { FieldError, isObject, type ReceivedAnswer, readData, readFields } from "./envelope.ts";
import {
  type FieldSource,
  readAmount,
  readExtra,
  readLabel,
  readList,
  readNumber,
  readObject,
  readOptionalText,
  readSecretText,
  readSecretTexts,
  readText,
} from "./fields.ts";

/** §4.B1. @throws ReconError `provider-*`; so do all functions here */
export function readSeamlessLogIn(answered: ReceivedAnswer): SeamlessLogIn {
  const data = readData(answered);
  return readFields(answered, () => readAddresses(readLogIn(data), ["url"]));
}

/** §4.C1 */
export function readTransferLogIn(answered: ReceivedAnswer): TransferLogIn {
  const data = readData(answered);
  return readFields(answered, () => {
    const source = readLogIn(data);
    const username = readSecretText(source, "username");
    return { username, ...readAddresses(source, ["username", "url"]) };
  });
}

function readLogIn(data: unknown): FieldSource {
  if (isObject(data)) return { name: "data", fields: data };
  throw new FieldError("data must be an object");
}

/** One address, or a list of them; the first is the one to use. */
function readAddresses(source: FieldSource, known: readonly string[]): SeamlessLogIn {
  const urls = readSecretTexts(source, "url");
  return { url: urls[0], urls, extra: readExtra(source, known) };
}

/** §4.B2, §4.B4, §4.C5. @param isNamed whether each game must have a name */
export function readGames(answered: ReceivedAnswer, isNamed: boolean): Game[] {
  const data = readData(answered);
  return readFields(answered, () =>
    readList(readObject(data, "data").fields["games"], "data.games").map((source) =>
      readGame(source, isNamed),
    ),
  );
}

function readGame(source: FieldSource, isNamed: boolean): Game {
  return {
    name: isNamed ? readLabel(source, "name") : readOptionalText(source, "name"),
    category: readLabel(source, "category"),
    type: readLabel(source, "type"),
    code: readText(source, "code"),
    img: readLabel(source, "img"),
    rank: readNumber(source, "rank"),
    providerCode: readOptionalText(source, "providerCode"),
    locale: readLocale(source),
    extra: readExtra(source, GAME_FIELDS),
  };
}

const GAME_FIELDS = ["name", "category", "type", "code", "img", "rank", "providerCode", "locale"];

/** Also keeps languages that the interface does not name. Upper and lower case are the same language (§2.5). */
function readLocale({ name, fields }: FieldSource): Readonly<Record<string, string>> | null {
  if (fields["locale"] === undefined || fields["locale"] === null) return null;
  const source = readObject(fields["locale"], `${name}.locale`);
  const names = Object.keys(source.fields).flatMap((language) => {
    const text = readOptionalText(source, language);
    return text === null ? [] : [[language.toUpperCase(), text] as const];
  });
  return Object.fromEntries(names);
}

/** §4.C6 */
export function readBetLimits(answered: ReceivedAnswer): BetLimitGroup[] {
  const data = readData(answered);
  return readFields(answered, () =>
    readList(data, "data").map((source) => ({
      productId: readText(source, "productId"),
      limits: readList(source.fields["BetLimit"], `${source.name}.BetLimit`).map((limit) => ({
        limit: readNumber(limit, "limit"),
        most: readAmount(limit, "Max"),
        least: readAmount(limit, "Min"),
        extra: readExtra(limit, ["limit", "Max", "Min"]),
      })),
      extra: readExtra(source, ["productId", "BetLimit"]),
    })),
  );
}

/** §4.C7 */
export function readFreeGame(answered: ReceivedAnswer): FreeGame {
  const data = readData(answered);
  return readFields(answered, () => {
    const source = readObject(data, "data");
    const id = source.fields["freeGameId"];
    if (!isLosslessNumber(id)) throw new ReconError("bad-record", "data.freeGameId must be a number");
    return { freeGameId: id.toString(), extra: readExtra(source, ["freeGameId"]) };
  });
}
