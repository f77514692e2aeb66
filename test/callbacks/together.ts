/** Callbacks that are answered without HTTP in one turn of the event loop, to make sure that they share a batch. */

import { parse } from "lossless-json";
import { answerCallback } from "../../src/callbacks/answer-callback.ts";
import { openPlayerQueue } from "../../src/callbacks/player-queue.ts";
import type { AnsweredName } from "../../src/callbacks/request.ts";
import { openWallet } from "../../src/callbacks/wallet.ts";
import type { Instant } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import { Deadline } from "../../src/db/deadline.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";
import { CONFIG, toBody } from "./operator.ts";

export interface Sent {
  readonly name: AnsweredName;
  /** the body, or its JSON text */
  readonly body: unknown;
  readonly deadline?: Deadline;
}

export interface Together {
  /** The answers in the order of the callbacks; null: not answered. Numbers are LosslessNumber. */
  answer(callbacks: readonly Sent[]): Promise<(Record<string, unknown> | null)[]>;
  close(): Promise<void>;
}

/** @param now the time of the operator's clock */
export function openTogether(sql: Sql, now: Instant = NOON, log: Log = silentLog): Together {
  const clock = createTestClock(now);
  const wallet = openWallet(sql, clock);
  const queue = openPlayerQueue({ mostUnanswered: 1_000, mostWaitingOfPlayer: 100 });
  const context = { config: CONFIG, clock, log, wallet, queue, signatureKey: null };
  const answerOne = async ({ name, body, deadline = new Deadline(60_000) }: Sent) => {
    const text = typeof body === "string" ? body : toBody(body);
    try {
      const answer = await answerCallback(context, {
        name,
        sentAs: name,
        body: Buffer.from(text),
        headers: {},
        deadline,
      });
      return answer === null ? null : (parse(answer) as Record<string, unknown>);
    } finally {
      deadline.stop();
    }
  };
  return { answer: (callbacks) => Promise.all(callbacks.map(answerOne)), close: () => wallet.close() };
}

/** "0 90" for a success with its balance, "20002" for a refusal, "none" for no answer. */
export function outcomesOf(answers: readonly (Record<string, unknown> | null)[]): string[] {
  return answers.map((answer) =>
    answer === null ? "none" : `${answer["statusCode"]} ${answer["balanceAfter"] ?? ""}`.trim(),
  );
}
