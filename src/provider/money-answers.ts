/** Reads answers about money that was moved (§4.B5, §4.C2, §4.C3, §4.C4). */

import {
  type MoneyAnswer,
  TOP_UP_ITEM_TYPES,
  type TopUpAnswer,
  type TopUpItem,
  type TransferAnswer,
} from "../agent-api.ts";
import { ReconError } from "../errors.ts";
import { hide, type ReceivedAnswer, readData, readEnvelope, readFields, rejection } from "./envelope.ts";
import {
  type FieldSource,
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
export function readMoneyAnswer(answered: ReceivedAnswer, transactionRef: string): MoneyAnswer {
  const data = readData(answered);
  return readFields(answered, () => {
    const source = readObject(data, "data");
    const txId = readText(source, "txId");
    if (txId !== transactionRef) throw another("data.txId", txId, transactionRef);
    return {
      username: readText(source, "username"),
      amount: readAmount(source, "amount"),
      beforeBalance: readAmount(source, "beforeBalance"),
      balance: readAmount(source, "balance"),
      txId,
      status: readText(source, "status"),
      extra: readExtra(source, ["username", "amount", "beforeBalance", "balance", "txId", "status"]),
    };
  });
}

/** @throws ReconError `provider-*`; also if the answer is about another transfer */
export function readTransferAnswer(answered: ReceivedAnswer, transactionRef: string): TransferAnswer {
  const data = readData(answered);
  return readFields(answered, () => {
    const source = readObject(data, "data");
    const raw = showRaw(answered);
    const answeredRef = readOptionalText(source, "transactionRef") ?? transactionRef;
    if (answeredRef !== transactionRef) throw another("data.transactionRef", answeredRef, transactionRef);
    if (readBoolean(source, "success")) return { success: true, transactionRef, raw, ...readDone(source) };
    // A provider that does not know the reference may leave out all other fields.
    return { success: false, transactionRef, raw, ...readFailed(source) };
  });
}

function readDone(source: FieldSource) {
  return {
    username: readText(source, "username"),
    productId: readText(source, "productId"),
    currency: readText(source, "currency"),
    amount: readAmount(source, "amount"),
    ...readBalances(source),
  };
}

function readFailed(source: FieldSource) {
  return {
    username: readOptionalText(source, "username"),
    productId: readOptionalText(source, "productId"),
    currency: readOptionalText(source, "currency"),
    amount: readOptionalAmount(source, "amount"),
    ...readBalances(source),
  };
}

function readBalances(source: FieldSource) {
  return {
    beforeBalance: readOptionalAmount(source, "beforeBalance"),
    afterBalance: readOptionalAmount(source, "afterBalance"),
  };
}

/** @throws ReconError `provider-*`, for every code but 0 and 1 */
export function readTopUpAnswer(answered: ReceivedAnswer): TopUpAnswer {
  const envelope = readEnvelope(answered);
  const { code, data } = envelope;
  if (code !== "0" && code !== "1") throw rejection(answered, envelope);
  return readFields(answered, () => {
    const said = { message: envelope.message, raw: showRaw(answered) };
    if (code === "0") return { code: 0, data: readTopUpItems(data), ...said };
    const hasItems = Array.isArray(data) && data.length > 0;
    if (!hasItems) return { code: 1, data: null, ...said };
    throw new ReconError("bad-record", "code 1 means a failure, but data has items");
  });
}

function readTopUpItems(data: unknown): TopUpItem[] {
  const items = readList(data, "data").map(readTopUpItem);
  if (items.length > 0) return items;
  throw new ReconError("bad-record", "code 0 means a success, but data is empty");
}

function readTopUpItem(source: FieldSource): TopUpItem {
  const text = readText(source, "type");
  const type = TOP_UP_ITEM_TYPES.find((one) => one === text);
  if (type === undefined) {
    throw new ReconError(
      "bad-record",
      `${source.name}.type must be one of ${TOP_UP_ITEM_TYPES.join(", ")}, but is "${text.slice(0, 60)}"`,
    );
  }
  return {
    id: readText(source, "id"),
    time: readOptionalText(source, "time"),
    amount: readAmount(source, "amount"),
    type,
    username: readText(source, "username"),
  };
}

function another(name: string, answered: string, asked: string): ReconError {
  return new ReconError(
    "bad-record",
    `${name} is "${answered.slice(0, 80)}", but "${asked.slice(0, 80)}" was asked for`,
  );
}

function showRaw({ text, secrets }: ReceivedAnswer): string {
  return hide(text, secrets);
}
