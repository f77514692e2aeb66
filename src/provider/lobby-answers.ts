/** Logins, lists of games, bet limits and free games (§4.B, §4.C), checked and turned into words. */

import { isLosslessNumber } from "lossless-json";
import { ReconError } from "../errors.ts";
import type { BetLimitGroup, FreeGame, Game, SeamlessLogIn, TransferLogIn } from "../lobby.ts";
import { type Answered, FieldError, isObject, readData, readFields } from "./envelope.ts";
import {
  type Place,
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

/** §4.B1. @throws ReconError `provider-*`, as all of these */
export function readSeamlessLogIn(answered: Answered): SeamlessLogIn {
  const data = readData(answered);
  return readFields(answered, () => readAddresses(readLogIn(data), ["url"]));
}

/** §4.C1 */
export function readTransferLogIn(answered: Answered): TransferLogIn {
  const data = readData(answered);
  return readFields(answered, () => {
    const place = readLogIn(data);
    const username = readSecretText(place, "username");
    return { username, ...readAddresses(place, ["username", "url"]) };
  });
}

function readLogIn(data: unknown): Place {
  if (isObject(data)) return { name: "data", fields: data };
  throw new FieldError("data must be an object");
}

/** One address, or a list of them; the first is the one to use. */
function readAddresses(place: Place, known: readonly string[]): SeamlessLogIn {
  const urls = readSecretTexts(place, "url");
  return { url: urls[0], urls, extra: readExtra(place, known) };
}

/** §4.B2, §4.B4, §4.C5. @param isNamed whether each game must have a name */
export function readGames(answered: Answered, isNamed: boolean): Game[] {
  const data = readData(answered);
  return readFields(answered, () =>
    readList(readObject(data, "data").fields["games"], "data.games").map((place) => readGame(place, isNamed)),
  );
}

function readGame(place: Place, isNamed: boolean): Game {
  return {
    name: isNamed ? readLabel(place, "name") : readOptionalText(place, "name"),
    category: readLabel(place, "category"),
    type: readLabel(place, "type"),
    code: readText(place, "code"),
    img: readLabel(place, "img"),
    rank: readNumber(place, "rank"),
    providerCode: readOptionalText(place, "providerCode"),
    locale: readLocale(place),
    extra: readExtra(place, GAME_FIELDS),
  };
}

const GAME_FIELDS = ["name", "category", "type", "code", "img", "rank", "providerCode", "locale"];

/** Languages that the interface does not name are kept too; capital and small letters are one (§2.5). */
function readLocale({ name, fields }: Place): Readonly<Record<string, string>> | null {
  if (fields["locale"] === undefined || fields["locale"] === null) return null;
  const place = readObject(fields["locale"], `${name}.locale`);
  const names = Object.keys(place.fields).flatMap((language) => {
    const text = readOptionalText(place, language);
    return text === null ? [] : [[language.toUpperCase(), text] as const];
  });
  return Object.fromEntries(names);
}

/** §4.C6 */
export function readBetLimits(answered: Answered): BetLimitGroup[] {
  const data = readData(answered);
  return readFields(answered, () =>
    readList(data, "data").map((place) => ({
      productId: readText(place, "productId"),
      limits: readList(place.fields["BetLimit"], `${place.name}.BetLimit`).map((limit) => ({
        limit: readNumber(limit, "limit"),
        most: readAmount(limit, "Max"),
        least: readAmount(limit, "Min"),
        extra: readExtra(limit, ["limit", "Max", "Min"]),
      })),
      extra: readExtra(place, ["productId", "BetLimit"]),
    })),
  );
}

/** §4.C7 */
export function readFreeGame(answered: Answered): FreeGame {
  const data = readData(answered);
  return readFields(answered, () => {
    const place = readObject(data, "data");
    const id = place.fields["freeGameId"];
    if (!isLosslessNumber(id)) throw new ReconError("bad-record", "data.freeGameId must be a number");
    return { freeGameId: id.toString(), extra: readExtra(place, ["freeGameId"]) };
  });
}
