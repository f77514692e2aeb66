/** Bull Board: shows the queues in a browser. Loaded at the first request only, because it takes 10 MB. */

import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { AfterHook } from "@bull-board/api/typings/app";
import { FastifyAdapter } from "@bull-board/fastify";
import fastify, { type FastifyInstance } from "fastify";
import { describeError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import type { JobQueue } from "./backend.ts";

/** The path of the board's own files. */
const BASE_PATH = "/queues";

/** The role of the asker. The ops server sets this header; the value of a browser never arrives here. */
const ROLE_HEADER = "recon-role";

const FONTS_OF_OTHERS = /<link href="https:[^>]*>/g;

/** The part of `GET /api/queues` with the permitted actions of each queue. */
interface QueueList {
  readonly queues?: readonly object[];
}

/**
 * Opens the board of these queues, on either backend. The board does not listen: the ops server passes requests with
 * `inject` and sets the role in the header "recon-role". A reader sees no buttons; the ops server must refuse a
 * reader's changes.
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
  // A page must not reveal its visitors to other sites, and must also load without the network.
  board.addHook("onSend", async (_request, _reply, page) =>
    typeof page === "string" ? page.replace(FONTS_OF_OTHERS, "") : page,
  );
  await board.register(adapter.registerPlugin(), { prefix: BASE_PATH });
  board.setNotFoundHandler((_request, reply) => reply.code(404).send());
  return await board;
}

/**
 * Bull Board knows read-only queues, but no read-only visitors. So this changes the answer from which the pages are
 * made.
 */
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
