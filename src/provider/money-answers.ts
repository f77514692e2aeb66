/** The answers about money that was moved (§4.B5, §4.C2, §4.C3, §4.C4), checked and turned into words. */

import {
  type MoneyAnswer,
  TOP_UP_ITEM_TYPES,
  type TopUpAnswer,
  type TopUpItem,
  type TransferAnswer,
} from "../agent-api.ts";
import { ReconError } from "../errors.ts";
import { type Answered, hide, readData, readEnvelope, readFields, rejection } from "./envelope.ts";
import {
  type Place,
  readAmount,
  readBoolean,
  readExtra,
  readList,
  readObject,
  readOptionalAmount,
  readOptionalText,
  readText,
} from "./fields.ts";

/** @throws ReconError `provider-*` */
export function readMoneyAnswer(answered: Answered, transactionRef: string): MoneyAnswer {
  const data = readData(answered);
  return readFields(answered, () => {
    const place = readObject(data, "data");
    const txId = readText(place, "txId");
    if (txId !== transactionRef) throw another("data.txId", txId, transactionRef);
    return {
      username: readText(place, "username"),
      amount: readAmount(place, "amount"),
      beforeBalance: readAmount(place, "beforeBalance"),
      balance: readAmount(place, "balance"),
      txId,
      status: readText(place, "status"),
      extra: readExtra(place, ["username", "amount", "beforeBalance", "balance", "txId", "status"]),
    };
  });
}

/** @throws ReconError `provider-*`; also where the answer speaks of another transfer than was asked for */
export function readTransferAnswer(answered: Answered, transactionRef: string): TransferAnswer {
  const data = readData(answered);
  return readFields(answered, () => {
    const place = readObject(data, "data");
    const raw = showRaw(answered);
    const answeredRef = readOptionalText(place, "transactionRef") ?? transactionRef;
    if (answeredRef !== transactionRef) throw another("data.transactionRef", answeredRef, transactionRef);
    if (readBoolean(place, "success")) return { success: true, transactionRef, raw, ...readDone(place) };
    // A provider that does not know the reference may repeat nothing of it.
    return { success: false, transactionRef, raw, ...readFailed(place) };
  });
}

function readDone(place: Place) {
  return {
    username: readText(place, "username"),
    productId: readText(place, "productId"),
    currency: readText(place, "currency"),
    amount: readAmount(place, "amount"),
    ...readBalances(place),
  };
}

function readFailed(place: Place) {
  return {
    username: readOptionalText(place, "username"),
    productId: readOptionalText(place, "productId"),
    currency: readOptionalText(place, "currency"),
    amount: readOptionalAmount(place, "amount"),
    ...readBalances(place),
  };
}

function readBalances(place: Place) {
  return {
    beforeBalance: readOptionalAmount(place, "beforeBalance"),
    afterBalance: readOptionalAmount(place, "afterBalance"),
  };
}

/** @throws ReconError `provider-*`, for every code but 0 and 1 */
export function readTopUpAnswer(answered: Answered): TopUpAnswer {
  const envelope = readEnvelope(answered);
  const { code, data } = envelope;
  if (code !== "0" && code !== "1") throw rejection(answered, envelope);
  return readFields(answered, () => {
    const said = { message: envelope.message, raw: showRaw(answered) };
    if (code === "0") return { code: 0, data: readTopUpItems(data), ...said };
    const hasItems = Array.isArray(data) && data.length > 0;
    if (!hasItems) return { code: 1, data: null, ...said };
    throw new ReconError("bad-record", "code 1 says that it failed, yet data has items");
  });
}

function readTopUpItems(data: unknown): TopUpItem[] {
  const items = readList(data, "data").map(readTopUpItem);
  if (items.length > 0) return items;
  throw new ReconError("bad-record", "code 0 says that it happened, yet data is empty");
}

function readTopUpItem(place: Place): TopUpItem {
  const text = readText(place, "type");
  const type = TOP_UP_ITEM_TYPES.find((one) => one === text);
  if (type === undefined) {
    throw new ReconError(
      "bad-record",
      `${place.name}.type must be one of ${TOP_UP_ITEM_TYPES.join(", ")}, but is "${text.slice(0, 60)}"`,
    );
  }
  return {
    id: readText(place, "id"),
    time: readOptionalText(place, "time"),
    amount: readAmount(place, "amount"),
    type,
    username: readText(place, "username"),
  };
}

function another(name: string, answered: string, asked: string): ReconError {
  return new ReconError(
    "bad-record",
    `${name} is "${answered.slice(0, 80)}", but "${asked.slice(0, 80)}" was asked for`,
  );
}

function showRaw({ text, secrets }: Answered): string {
  return hide(text, secrets);
}
