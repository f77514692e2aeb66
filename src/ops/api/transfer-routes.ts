/** Transfers over HTTP: hand over, list, show, close. */

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { objectOf } from "../../answer.ts";
import type { FlowContext } from "../../flows/context.ts";
import {
  describeTransfer,
  findTransfer,
  readTransferStory,
  TRANSFER,
  TRANSFER_LIST,
  TRANSFER_STORY,
} from "../../flows/read/read-transfer.ts";
import { closeTransfer, handOverTransfers } from "../../flows/verify/operate-transfers.ts";
import { countListed, listTransfers } from "../../verify/list-store.ts";
import { DECIDES } from "../access/access.ts";
import { COUNTED, type Typed, takeCount } from "../input/fields.ts";
import {
  CLOSE_FORM,
  HAND_OVER_FORM,
  LIST_QUERY,
  ONE_OF_REF,
  readNote,
  readTransfer,
  readTransferChoice,
  readTransferQuery,
} from "../input/transfer-query.ts";
import { describeOperation } from "./operation.ts";

interface TransferRoute {
  Params: { ref: string };
}

/** The path of a route about one of them. */
const ONE_REF = z.strictObject({ ref: z.string() });

const ONE_TRANSFER = objectOf({ transfer: TRANSFER });

const LIST = describeOperation({
  id: "listTransfers",
  summary: "transfers, or top-ups, in the order of `sort`",
  query: LIST_QUERY.extend(COUNTED),
  answers: { 200: TRANSFER_LIST },
});

const SHOW = describeOperation({
  id: "readTransfer",
  summary: "one transfer or top-up, with every answer",
  params: ONE_REF,
  query: ONE_OF_REF,
  answers: { 200: TRANSFER_STORY },
});

const HAND_OVER = describeOperation({
  id: "handOverTransfer",
  summary: "hands a transfer over for verification (201); a repetition changes nothing (200)",
  body: HAND_OVER_FORM,
  answers: { 200: ONE_TRANSFER, 201: ONE_TRANSFER },
});

const CLOSE = describeOperation({
  id: "closeTransfer",
  summary: "records the decision on an inconclusive one",
  params: ONE_REF,
  query: ONE_OF_REF,
  body: CLOSE_FORM,
  answers: { 200: ONE_TRANSFER },
});

export function addTransferRoutes(api: FastifyInstance, context: FlowContext): void {
  const { sql, config, clock } = context;
  api.get<{ Querystring: Typed }>("/transfers", { schema: LIST }, async (request) => {
    const { isCounted, query } = takeCount(request.query);
    const filter = readTransferQuery(query, config);
    const { transfers, next } = await listTransfers(sql, filter);
    const count = isCounted ? await countListed(sql, filter) : {};
    return { transfers: transfers.map(describeTransfer), next, ...count };
  });
  api.get<TransferRoute>("/transfers/:ref", { schema: SHOW }, ({ params, query }) =>
    readTransferStory(context, readTransferChoice(params.ref, query)),
  );
  api.post("/transfers", { schema: HAND_OVER }, async ({ body }, reply) => {
    const products = config.products.map(({ productId }) => productId);
    const transfer = readTransfer(body, { products, now: clock.now() });
    const { added } = await handOverTransfers(context, [{ transfer, label: "" }]);
    const ref = transfer.transactionRef;
    const found = await findTransfer(context, { ref, kind: "transfer", productId: null, username: null });
    const location = `/api/transfers/${encodeURIComponent(ref)}`;
    return await reply
      .code(added === 1 ? 201 : 200)
      .header("location", location)
      .send({ transfer: describeTransfer(found) });
  });
  api.post<TransferRoute>("/transfers/:ref/close", { schema: CLOSE, ...DECIDES }, async (request) => {
    const choice = readTransferChoice(request.params.ref, request.query);
    const note = readNote(request.body);
    const closed = await closeTransfer(context, choice, { by: request.asker.name, note });
    return { transfer: describeTransfer(closed) };
  });
}
