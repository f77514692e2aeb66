/** Reads the bytes of one connection as they pass, and pairs each callback with its answer (docs/tap.md). */

import { CALLBACK_AT } from "../callbacks/request.ts";
import type { Instant } from "../clock.ts";
import { dropBodies, type Exchange, emptyBody, type KeptBytes, keepPart, textOf } from "./exchange.ts";
import {
  type Framing,
  fieldOf,
  framingOfAnswer,
  framingOfRequest,
  type MessageHead,
  MessageReader,
  UnreadableMessage,
} from "./message-reader.ts";
import type { Tally } from "./tally.ts";

/** A callback as it was sent, and as it was answered: a line of the journal. */
export interface AnsweredCallback {
  readonly callback: string;
  readonly receivedAt: Instant;
  /** the bodies, without session tokens */
  readonly request: string;
  readonly response: string;
}

/** What all conversations share. */
export interface ConversationContext {
  readonly now: () => Instant;
  readonly tally: Tally;
  readonly kept: KeptBytes;
  /** called with the path of each POST request that names no callback */
  readonly onOther?: (path: string) => void;
  readonly onUnreadable?: (reason: string) => void;
}

/** Requests of one connection that wait for an answer. */
const MOST_OPEN = 1_000;

export class Conversation {
  readonly #context: ConversationContext;
  /** requests without an answer, in their order */
  readonly #open: Exchange[] = [];
  /** requests whose answer came before the request had been sent whole */
  readonly #early: Exchange[] = [];
  #sending: Exchange | null = null;
  #isFinal = true;
  #answered: AnsweredCallback[] = [];
  #isBlind = false;
  #isHeld = false;
  readonly #requests = new MessageReader({
    head: (head) => this.#beginRequest(head),
    data: (part) => {
      if (this.#sending !== null) keepPart(this.#sending, "request", part, this.#context.kept);
    },
    end: () => this.#endRequest(),
  });
  readonly #answers = new MessageReader({
    head: (head) => this.#beginAnswer(head),
    data: (part) => {
      const [exchange] = this.#open;
      if (exchange !== undefined) keepPart(exchange, "answer", part, this.#context.kept);
    },
    end: () => this.#endAnswer(),
  });

  constructor(context: ConversationContext) {
    this.#context = context;
  }

  /** Whether no request waits for an answer. */
  get isIdle(): boolean {
    return !this.#isHeld && (this.#isBlind || (this.#open.length === 0 && !this.#requests.isWithin));
  }

  /** Holds an answer back until `recorded` resolves. The conversation is not idle meanwhile. */
  async holdFor(recorded: Promise<void>): Promise<void> {
    this.#isHeld = true;
    await recorded;
    this.#isHeld = false;
  }

  /** Reads bytes of the caller. @returns the index of the path of each request that begins in these bytes */
  request(bytes: Buffer): number[] {
    const paths: number[] = [];
    this.#read(() => this.#requests.read(bytes, paths));
    return paths;
  }

  /** Reads bytes of the target. */
  answer(bytes: Buffer): void {
    this.#read(() => this.#answers.read(bytes));
  }

  /** The target sends nothing more. An answer without a length ends here. */
  finish(): void {
    this.#read(() => this.#answers.finish());
  }

  /** @returns the callbacks that were answered since the last call */
  take(): AnsweredCallback[] {
    const answered = this.#answered;
    if (answered.length > 0) this.#answered = [];
    return answered;
  }

  /** The connection is over. Callbacks without an answer count as unanswered. */
  close(): void {
    if (this.#isBlind) return;
    const left = [...this.#open, ...this.#early].filter(({ callback }) => callback !== null);
    this.#context.tally.unanswered += left.length;
    this.#goBlind();
  }

  #read(read: () => void): void {
    if (this.#isBlind) return;
    try {
      read();
    } catch (error) {
      if (!(error instanceof UnreadableMessage)) throw error;
      this.#context.tally.lost.unreadable += 1;
      this.#context.onUnreadable?.(error.message);
      this.#goBlind();
    }
  }

  #goBlind(): void {
    this.#isBlind = true;
    this.#requests.becomeTunnel();
    this.#answers.becomeTunnel();
    for (const exchange of [...this.#open, ...this.#early]) dropBodies(exchange, this.#context.kept);
    this.#open.length = 0;
    this.#early.length = 0;
  }

  #beginRequest(head: MessageHead): Framing {
    const [, method = "", target = ""] = /^(\S+) (\S+) HTTP\/1\.\d$/.exec(head.startLine) ?? [];
    if (method === "") throw new UnreadableMessage("a request does not begin as one of HTTP/1.1");
    const path = target.split("?", 1)[0] ?? "";
    const name = CALLBACK_AT.get(path.slice(path.lastIndexOf("/") + 1));
    const callback = method === "POST" && name !== undefined && name !== "checkBalance" ? name : null;
    if (callback === null) this.#context.tally.others += 1;
    if (method === "POST" && name === undefined) this.#context.onOther?.(path);
    if (this.#open.length === MOST_OPEN)
      throw new UnreadableMessage(`${MOST_OPEN} requests wait for answers`);
    const exchange = {
      method,
      callback,
      receivedAt: this.#context.now(),
      request: emptyBody(head),
      answer: emptyBody(null),
      status: 0,
    };
    const framing = framingOfRequest(head);
    this.#sending = exchange;
    this.#open.push(exchange);
    return framing;
  }

  #endRequest(): void {
    const exchange = this.#sending;
    if (exchange === null) return;
    exchange.request.isWhole = true;
    this.#sending = null;
    const early = this.#early.indexOf(exchange);
    if (early < 0) return;
    this.#early.splice(early, 1);
    this.#record(exchange);
  }

  #beginAnswer(head: MessageHead): Framing {
    const [exchange] = this.#open;
    if (exchange === undefined) throw new UnreadableMessage("an answer comes without a request");
    const status = Number(/^HTTP\/1\.\d (\d{3})(?: |$)/.exec(head.startLine)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new UnreadableMessage("an answer has no status");
    this.#isFinal = status >= 200 || status === 101;
    const framing = framingOfAnswer(head, exchange.method, status);
    if (framing === "tunnel") {
      this.#goBlind();
    } else if (this.#isFinal) {
      exchange.status = status;
      exchange.answer.coding = fieldOf(head, "content-encoding");
    }
    return framing;
  }

  #endAnswer(): void {
    if (!this.#isFinal) return;
    const exchange = this.#open.shift();
    if (exchange?.callback == null) return;
    exchange.answer.isWhole = true;
    if (exchange.request.isWhole) this.#record(exchange);
    else this.#early.push(exchange);
  }

  #record(exchange: Exchange): void {
    const { callback, receivedAt, request, answer, status } = exchange;
    const { tally } = this.#context;
    if (callback === null) return;
    if (request.isTooLarge || answer.isTooLarge) {
      tally.lost["too-large"] += 1;
    } else {
      const response = textOf(answer);
      // For example, the error page of a gateway: the operator has moved no money for it.
      const isRefusal = (status < 200 || status > 299) && !response.trimStart().startsWith("{");
      if (isRefusal) tally.refused += 1;
      else this.#answered.push({ callback, receivedAt, request: textOf(request), response });
    }
    dropBodies(exchange, this.#context.kept);
  }
}
