/** Transfers over HTTP: handed over, listed, looked at, closed. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { closeTransfer } from "../flows/close-transfer.ts";
import type { FlowContext } from "../flows/context.ts";
import { handOverTransfers } from "../flows/hand-over-transfers.ts";
import { describeTransfer, findTransfer, readTransferStory } from "../flows/read-transfer.ts";
import { readTransfer } from "../verify/hand-over.ts";
import { listTransfers } from "../verify/store.ts";
import { checkFields, usage } from "./range-query.ts";
import { readNote, readTransferChoice, readTransferQuery, transferQueryOf } from "./transfer-query.ts";

type Typed = Readonly<Record<string, unknown>>;

/** @param whoAsks whose token a request brought */
export function addTransferRoutes(
  api: FastifyInstance,
  context: FlowContext,
  whoAsks: (request: FastifyRequest) => string,
): void {
  const { sql, config, clock } = context;
  api.get<{ Querystring: Typed }>("/transfers", async ({ query }) => {
    const filter = readTransferQuery(transferQueryOf(query), config);
    const { transfers, next } = await listTransfers(sql, filter);
    return { transfers: transfers.map(describeTransfer), next };
  });
  api.get<{ Params: { ref: string }; Querystring: Typed }>("/transfers/:ref", ({ params, query }) =>
    readTransferStory(context, readTransferChoice(params.ref, query)),
  );
  api.post("/transfers", async ({ body }, reply) => {
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
  api.post<{ Params: { ref: string }; Querystring: Typed }>("/transfers/:ref/close", async (request) => {
    const choice = readTransferChoice(request.params.ref, request.query);
    const note = readNote(checkFields(readObject(request.body), ["note"])["note"]);
    const closed = await closeTransfer(context, choice, { by: whoAsks(request), note });
    return { transfer: describeTransfer(closed) };
  });
}

function readObject(body: unknown): Typed {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Typed;
  throw usage("the body must be a JSON object with a note");
}
