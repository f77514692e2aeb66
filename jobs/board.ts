/** Bull Board: a look into the queues in a browser. Loaded only when somebody looks, for it takes 10 MB. */

import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { AfterHook } from "@bull-board/api/typings/app";
import { FastifyAdapter } from "@bull-board/fastify";
import fastify, { type FastifyInstance } from "fastify";
import { describeError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import type { JobQueue } from "./backend.ts";

/** Where its pages look for their own files. */
const BASE_PATH = "/queues";

/** Set by who passes requests on to the board, never by a browser: the role of who asks. */
const ROLE_HEADER = "recon-role";

const FONTS_OF_OTHERS = /<link href="https:[^>]*>/g;

/** The part of `GET /api/queues` that says what may be done with each queue. */
interface QueueList {
  readonly queues?: readonly object[];
}

/**
 * Opens the board over these queues, on either backend. It listens nowhere: requests are put in with `inject`, their role in
 * the header "recon-role". Who may only read sees no buttons; that nothing is changed is up to who passes requests on.
 */
export async function openBoard(queues: readonly JobQueue[], log: Log): Promise<FastifyInstance> {
  const adapter = new FastifyAdapter();
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue)),
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: "wallet-recon queues", hideDocsLink: true },
      handlerHooks: { after: hideActions },
    },
  });
  adapter.setErrorHandler((error) => {
    log.error({ error: describeError(error) }, "the board of the queues failed");
    return { status: 500, body: { error: { key: "ERRORS.INTERNAL_SERVER_ERROR" } } };
  });
  const board = fastify({ logger: false });
  // Nobody elsewhere shall learn who looks, and a page must come without the network too.
  board.addHook("onSend", async (_request, _reply, page) =>
    typeof page === "string" ? page.replace(FONTS_OF_OTHERS, "") : page,
  );
  await board.register(adapter.registerPlugin(), { prefix: BASE_PATH });
  board.setNotFoundHandler((_request, reply) => reply.code(404).send());
  return await board;
}

/** Read-only belongs to a queue there, not to who looks: it is put into the answer that the pages are made from. */
const hideActions: AfterHook = ({ request }, answer) => {
  const { queues } = answer.body as QueueList;
  if (request.headers[ROLE_HEADER] === "write" || queues === undefined) return answer;
  const shown = queues.map((queue) => ({
    ...queue,
    readOnlyMode: true,
    allowRetries: false,
    allowCompletedRetries: false,
  }));
  return { ...answer, body: { queues: shown } };
};
