/** The provider's side of the callbacks: sends each one until it is answered, repeats some, and checks the answers. */

import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { parse } from "lossless-json";
import { systemClock } from "../../src/clock.ts";
import { describeError } from "../../src/errors.ts";
import type { Amount } from "../../src/money.ts";
import type { Random } from "../../src/sandbox/world/random.ts";
import {
  amountIn,
  type CallbackAnswer,
  findAnswerFault,
  findRepeatFault,
  isSuccess,
} from "./callback-answers.ts";
import type { WorldRequest } from "./callback-requests.ts";

/** A callbacks server. */
interface Receiver {
  readonly url: string;
  /** signs the callbacks */
  readonly key: string;
}

interface SentWallet {
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
}

/** Longer than a killed server needs to come back. */
const GIVE_UP_AFTER_MS = 300_000;
const ANSWER_WITHIN_MS = 30_000;
const AGAIN_AFTER_MS = 50;
/** One in this many is given up early, and one in this many is repeated although it was answered, at once or later. */
const ONE_IN_IMPATIENT = 15;
const IMPATIENT_MS = 15;
const ONE_IN_REPEATED = 6;
const LATEST_REPEAT_MS = 2_000;
const INTERNAL_ERROR = 50001;
const ROLLBACKS = ["rollback", "unsettleBets", "rollbackBets"] as const;

export class CallbackSender {
  readonly problems: string[] = [];
  /** requests without an answer, or answered 50001, that were sent again */
  unanswered = 0;
  /** requests that were repeated although they had been answered */
  repeated = 0;
  /** requests that the operator had to refuse, and refused */
  refused = 0;
  readonly #receiver: Receiver;
  readonly #random: Random;
  #later: Promise<void>[] = [];

  constructor(receiver: Receiver, random: Random) {
    this.#receiver = receiver;
    this.#random = random;
  }

  /** Resolves when the request is answered; `problems` gets what is wrong with the answer. */
  async deliver(request: WorldRequest): Promise<void> {
    const answered = await this.#sendUntilAnswered(request.callback, request.body);
    if (answered === null) return;
    const { answer, tries } = answered;
    this.#note(findAnswerFault(request, answer, tries));
    if (request.answer === "refused") this.refused += 1;
    if (!isSuccess(answer) || !this.#random.oneIn(ONE_IN_REPEATED)) return;
    const repeating = this.#repeat(request, answer, this.#random.pick([0, LATEST_REPEAT_MS]));
    this.#later.push(repeating);
  }

  /** Asks for a balance (§4.A1). @returns null: no answer */
  async readBalance({ productId, username, currency }: SentWallet): Promise<Amount | null> {
    const id = `balance-${username}-${currency}`;
    const body = { id, timestampMillis: systemClock.now(), productId, currency, username };
    const answered = await this.#sendUntilAnswered("checkBalance", JSON.stringify(body));
    return answered === null ? null : amountIn(answered.answer, "balance");
  }

  /** Resolves when all repeated requests are answered too. */
  async idle(): Promise<void> {
    await Promise.all(this.#later);
  }

  async #repeat(request: WorldRequest, first: CallbackAnswer, latestMs: number): Promise<void> {
    await pause(this.#random.below(latestMs + 1));
    this.repeated += 1;
    const answered = await this.#sendUntilAnswered(request.callback, request.body);
    if (answered !== null) this.#note(findRepeatFault(request, answered.answer, first));
  }

  /** @returns the answer, and how often the request was sent; null: no answer came at all */
  async #sendUntilAnswered(
    callback: string,
    body: string,
  ): Promise<{ answer: CallbackAnswer; tries: number } | null> {
    const deadline = performance.now() + GIVE_UP_AFTER_MS;
    const isImpatient = this.#random.oneIn(ONE_IN_IMPATIENT);
    let withinMs = isImpatient ? this.#random.between(1, IMPATIENT_MS) : ANSWER_WITHIN_MS;
    let reason = "";
    for (let tries = 1; performance.now() < deadline; tries += 1) {
      try {
        const answer = await send(this.#receiver, this.#pathOf(callback), body, withinMs);
        if (answer.statusCode !== INTERNAL_ERROR) return { answer, tries };
        reason = "it was answered 50001";
      } catch (error) {
        reason = describeError(error);
      }
      this.unanswered += 1;
      withinMs = ANSWER_WITHIN_MS;
      await pause(AGAIN_AFTER_MS);
    }
    this.#note(`${callback} was never answered: ${reason}; it was ${body}`);
    return null;
  }

  /** Another one of the possible addresses each time; all mean the same. */
  #pathOf(callback: string): string {
    const name = callback === "rollback" ? this.#random.pick(ROLLBACKS) : callback;
    return `${this.#random.pick(["", "sexy/", "hentory/"])}${name}`;
  }

  #note(problem: string | null): void {
    if (problem !== null) this.problems.push(problem);
  }
}

async function send(
  { url, key }: Receiver,
  path: string,
  body: string,
  withinMs: number,
): Promise<CallbackAnswer> {
  const timestamp = String(systemClock.now());
  const signature = createHmac("sha256", key).update(`${body}.${timestamp}`).digest("hex");
  const headers = { "sapi-timestamp": timestamp, "sapi-signature": signature };
  const response = await fetch(`${url}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
    signal: AbortSignal.timeout(withinMs),
  });
  const text = await response.text();
  // Not an answer of the interface: 408, if the request reached a server that stood still.
  if (response.status >= 400) throw new Error(`HTTP ${response.status}: ${text}`);
  const fields = parse(text) as CallbackAnswer["fields"];
  return { fields, statusCode: Number(fields["statusCode"] ?? response.status) };
}
