/** Reads along on one connection, and puts each callback together with its answer (docs/tap.md). */

import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { keptText } from "../callbacks/raw-body.ts";
import { CALLBACK_AT } from "../callbacks/request.ts";
import type { Instant } from "../clock.ts";
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
  /** bytes of bodies that all conversations keep at the moment */
  readonly kept: { bytes: number };
  /** hears of the path of a POST request that is no callback */
  readonly onOther?: (path: string) => void;
  readonly onUnreadable?: (reason: string) => void;
}

/** More than any callback or answer has; the callbacks server takes no more either. */
const MOST_BODY_BYTES = 1024 * 1024;
const MOST_KEPT_BYTES = 128 * 1024 * 1024;
/** Requests of one connection that are sent before the first of them is answered. */
const MOST_OPEN = 1_000;

interface Exchange {
  readonly method: string;
  /** null: no callback that moves money, and nothing of it is kept */
  readonly callback: string | null;
  readonly receivedAt: Instant;
  readonly request: Body;
  readonly answer: Body;
  status: number;
}

interface Body {
  parts: Buffer[];
  bytes: number;
  coding: string | null;
  isWhole: boolean;
  isTooLarge: boolean;
}

export class Conversation {
  readonly #context: ConversationContext;
  /** that are not answered yet, in their order */
  readonly #open: Exchange[] = [];
  /** that were answered before they had been sent whole */
  readonly #early: Exchange[] = [];
  #sending: Exchange | null = null;
  #isFinal = true;
  #answered: AnsweredCallback[] = [];
  #isBlind = false;
  #isHeld = false;
  readonly #requests = new MessageReader({
    head: (head) => this.#beginRequest(head),
    data: (part) => this.#keep(this.#sending, this.#sending?.request, part),
    end: () => this.#endRequest(),
  });
  readonly #answers = new MessageReader({
    head: (head) => this.#beginAnswer(head),
    data: (part) => this.#keep(this.#open[0], this.#open[0]?.answer, part),
    end: () => this.#endAnswer(),
  });

  constructor(context: ConversationContext) {
    this.#context = context;
  }

  /** Whether no request waits for an answer. */
  get isIdle(): boolean {
    return !this.#isHeld && (this.#isBlind || (this.#open.length === 0 && !this.#requests.isWithin));
  }

  /** An answer that has come is held back until `recorded` resolves. */
  async holdFor(recorded: Promise<void>): Promise<void> {
    this.#isHeld = true;
    await recorded;
    this.#isHeld = false;
  }

  /** @returns where the paths of the requests begin that begin in these bytes */
  request(bytes: Buffer): number[] {
    const paths: number[] = [];
    this.#read(() => this.#requests.read(bytes, paths));
    return paths;
  }

  answer(bytes: Buffer): void {
    this.#read(() => this.#answers.read(bytes));
  }

  /** Nothing more comes from the target: an answer without a length has ended. */
  finish(): void {
    this.#read(() => this.#answers.finish());
  }

  /** @returns the callbacks that have been answered since the last time */
  take(): AnsweredCallback[] {
    const answered = this.#answered;
    if (answered.length > 0) this.#answered = [];
    return answered;
  }

  /** The connection is over: what is not answered by now never will be. */
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
    for (const exchange of [...this.#open, ...this.#early]) this.#release(exchange);
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

  #keep(exchange: Exchange | null | undefined, body: Body | undefined, part: Buffer): void {
    if (exchange?.callback == null || body === undefined || body.isTooLarge) return;
    const { kept } = this.#context;
    if (body.bytes + part.length > MOST_BODY_BYTES || kept.bytes + part.length > MOST_KEPT_BYTES) {
      body.isTooLarge = true;
      return;
    }
    body.parts.push(part);
    body.bytes += part.length;
    kept.bytes += part.length;
  }

  #release({ request, answer }: Exchange): void {
    for (const body of [request, answer]) {
      this.#context.kept.bytes -= body.bytes;
      body.parts = [];
      body.bytes = 0;
    }
  }

  #record(exchange: Exchange): void {
    const { callback, receivedAt, request, answer, status } = exchange;
    const { tally } = this.#context;
    if (callback === null) return;
    if (request.isTooLarge || answer.isTooLarge) {
      tally.lost["too-large"] += 1;
    } else {
      const response = textOf(answer);
      // Such as the page of a gateway: what is no answer of the interface took nothing.
      const isRefusal = (status < 200 || status > 299) && !response.trimStart().startsWith("{");
      if (isRefusal) tally.refused += 1;
      else this.#answered.push({ callback, receivedAt, request: textOf(request), response });
    }
    this.#release(exchange);
  }
}

function emptyBody(head: MessageHead | null): Body {
  const coding = head === null ? null : fieldOf(head, "content-encoding");
  return { parts: [], bytes: 0, coding, isWhole: false, isTooLarge: false };
}

/** As text and without session tokens. What cannot be unpacked stays as it is: whoever reads it says so. */
function textOf({ parts, coding }: Body): string {
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  return keptText(unpack(bytes, coding?.trim().toLowerCase() ?? ""));
}

function unpack(bytes: Buffer, coding: string): Buffer {
  const limit = { maxOutputLength: MOST_BODY_BYTES };
  try {
    if (coding === "gzip" || coding === "x-gzip") return gunzipSync(bytes, limit);
    if (coding === "deflate") return inflateSync(bytes, limit);
    if (coding === "br") return brotliDecompressSync(bytes, limit);
  } catch {
    // It is kept as it came.
  }
  return bytes;
}
