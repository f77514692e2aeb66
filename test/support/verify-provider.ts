/** A provider on a real HTTP server that is asked about transfers and top-ups. The test writes its answers. */

import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { beforeEach } from "vitest";
import { useServer } from "./use-server.ts";

export interface VerifyQuestion {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Reply = (response: ServerResponse) => void;

export interface VerifyProvider {
  /** base URL, without a slash at its end; exists while the tests run */
  url(): string;
  /** Decides how every later question of this test is answered. */
  answer(script: (question: VerifyQuestion) => Reply | Promise<Reply>): void;
  /** all questions of this test, in order */
  readonly questions: readonly VerifyQuestion[];
  /** the largest number of simultaneous questions */
  mostAtOnce(): number;
}

/** Call at the top of a test file. Each test begins with a provider that knows no transfer. */
export function useVerifyProvider(): VerifyProvider {
  const questions: VerifyQuestion[] = [];
  let script: (question: VerifyQuestion) => Reply | Promise<Reply> = () => transferAnswer(false);
  let underWay = 0;
  let mostAtOnce = 0;
  const server = createServer(async (request, response) => {
    underWay += 1;
    mostAtOnce = Math.max(mostAtOnce, underWay);
    response.on("close", () => {
      underWay -= 1;
    });
    // A worker that was killed in the middle of a request has asked nothing.
    const body = await text(request).catch(() => null);
    if (body === null) return;
    const question = { path: request.url ?? "", body: JSON.parse(body) };
    questions.push(question);
    (await script(question))(response);
  });
  const url = useServer(server);
  beforeEach(() => {
    questions.length = 0;
    script = () => transferAnswer(false);
    mostAtOnce = 0;
  });
  return {
    url,
    answer: (next) => {
      script = next;
    },
    questions,
    mostAtOnce: () => mostAtOnce,
  };
}

export function replyWith(body: unknown, status = 200): Reply {
  const said = typeof body === "string" ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { "content-type": "application/json" }).end(said);
}

/** The transfer of `question` as it was sent, 10.00 THB in P1 for anna (§4.C4). */
export function transferAnswer(success: boolean, fields: Readonly<Record<string, unknown>> = {}): Reply {
  return (response) => replyWith(envelope({ success, ...fields }))(response);
}

/** The answer to a question about a transfer of 10.00 THB: what was sent, changed by these fields. */
export function bookedAs({ body }: VerifyQuestion, fields: Readonly<Record<string, unknown>> = {}): Reply {
  const { username, productId, transactionRef } = body;
  const balances = { beforeBalance: "0.00", afterBalance: "10.00" };
  const said = {
    username,
    productId,
    transactionRef,
    currency: "THB",
    amount: "10.00",
    ...balances,
    ...fields,
  };
  return transferAnswer(true, said);
}

function envelope(data: unknown, code = 0): Readonly<Record<string, unknown>> {
  return { reqId: "r", code, message: code === 0 ? "success" : "failed", data };
}

/** Code 0 with these items (§4.B5). */
export function topUpAnswer(...items: readonly Readonly<Record<string, unknown>>[]): Reply {
  return replyWith({ code: 0, message: "success", data: items });
}

/** Code 1: the top-up failed (§7.2). */
export const topUpFailed: Reply = replyWith({ code: 1, message: "failed", data: null });
