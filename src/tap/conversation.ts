/** Reads the bytes of one connection while they pass, and pairs each callback with its answer (docs/tap.md). */

import type { Instant } from "../clock.ts";
import {
  dropBody,
  type Exchange,
  emptyBody,
  type KeptBytes,
  keepPart,
  MOST_BODY_BYTES,
  MOST_OTHER_BYTES,
  readSaid,
  textOf,
} from "./exchange.ts";
import {
  callbackAt,
  type Ending,
  endingOfAnswer,
  endingOfRequest,
  type Framing,
  fieldOf,
  findPath,
  parseHead,
  parseRequestLine,
  type RequestLine,
  showTarget,
  withoutHttp2,
} from "./message-head.ts";
import { MessageReader, type ReadHead } from "./message-reader.ts";
import type { Tally } from "./tally.ts";

/** A callback as sent and as answered: one line of the journal. */
export interface AnsweredCallback {
  readonly callback: string;
  readonly receivedAt: Instant;
  /** the bodies, without session tokens */
  readonly request: string;
  readonly response: string;
}

/** Shared by all conversations. */
export interface ConversationContext {
  readonly now: () => Instant;
  readonly tally: Tally;
  readonly kept: KeptBytes;
  /** called with each request that names no callback but may move money, such as "/payBonus" or "PUT /placeBets" */
  readonly onOther?: (path: string) => void;
  readonly onUnreadable?: (reason: string) => void;
}

/** Safe methods should move no money (RFC 9110, 9.2.1). The log names them only if an answer says that money moved. */
const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const [LF, CR] = [0x0a, 0x0d];
/** The most requests of one connection that wait for answers. */
const MOST_OPEN = 1_000;
/** Any number of spaces may separate the parts (RFC 9112, 4). */
const STATUS_LINE = /^HTTP\/1\.\d[ \t]+(\d{3})(?:[ \t]|$)/;
const TOO_LONG = unknownEnding("a head is longer than 128 KiB");
const NO_STATUS = unknownEnding("an answer has no status");

export class Conversation {
  readonly #context: ConversationContext;
  readonly #prefix: string;
  /** requests without an answer, in order */
  readonly #open: Exchange[] = [];
  /** requests whose answer came before the request was complete */
  readonly #early: Exchange[] = [];
  #sending: Exchange | null = null;
  #isFinal = true;
  #answered: AnsweredCallback[] = [];
  #isHeld = false;
  /** No further request passes. The connection ends when all requests passed so far are answered. */
  #isClosing = false;
  readonly #requests = new MessageReader({
    head: (bytes, isWhole) => this.#beginRequest(bytes, isWhole),
    data: (part) => this.#keep(this.#sending, "request", part),
    end: () => this.#endRequest(),
    unreadable: (reason) => this.#doubt(this.#sending, "request", reason),
  });
  readonly #answers = new MessageReader({
    head: (bytes, isWhole) => this.#beginAnswer(bytes, isWhole),
    data: (part) => this.#keep(this.#open[0], "answer", part),
    end: () => this.#endAnswer(),
    unreadable: (reason) => this.#doubt(this.#open[0], "answer", reason),
  });

  /** @param prefix the path in the target's address, such as "/callbacks"; it is put before the path of each request */
  constructor(context: ConversationContext, prefix: string) {
    this.#context = context;
    this.#prefix = prefix;
  }

  /** Whether no request waits for an answer. */
  get isIdle(): boolean {
    if (this.#isHeld) return false;
    return this.#open.length === 0 && !this.#requests.isWithin;
  }

  /** Whether the connection must end now. */
  get isOver(): boolean {
    return this.#isClosing && this.#open.length === 0 && this.#early.length === 0;
  }

  /** Holds an answer back until `recorded` resolves. Until then the conversation is not idle. */
  async holdFor(recorded: Promise<void>): Promise<void> {
    this.#isHeld = true;
    await recorded;
    this.#isHeld = false;
  }

  /** Reads bytes of the caller. @returns what to pass to the target */
  request(bytes: Buffer): Buffer {
    const passed = this.#requests.read(bytes);
    // The caller begins its next request, so it considers the answer without a known end complete.
    const isNext = passed.length === 0 && bytes.some((byte) => byte !== CR && byte !== LF);
    if (this.#isClosing && isNext && this.#answers.isUntilEnd) this.#endAnswers();
    return passed;
  }

  /** Reads bytes of the target. @returns what to pass to the caller */
  answer(bytes: Buffer): Buffer {
    return this.#answers.read(bytes);
  }

  /** The target has ended its side. An answer without a length ends here. @returns the remaining bytes for the caller */
  finish(): Buffer {
    const left = this.#endAnswers();
    // A body without a head, or after a head without an end: the caller may still have read it as an answer.
    if (left.includes("{")) this.#loseOpen();
    return left;
  }

  /** @returns the callbacks that were answered since the last call */
  take(): AnsweredCallback[] {
    const answered = this.#answered;
    if (answered.length > 0) this.#answered = [];
    return answered;
  }

  /** The connection is over. Callbacks without an answer count as unanswered. */
  close(): void {
    const [first] = this.#open;
    const isAnswered =
      first !== undefined && first.callback !== null && readSaid(textOf(first.answer)) !== null;
    if (this.#answers.isUntilEnd || isAnswered) this.#loseOpen();
    for (const early of this.#early.splice(0)) {
      early.request.isUnreadable = true;
      this.#record(early);
    }
    this.#context.tally.unanswered += this.#forget(this.#open);
  }

  /** No answer follows. One without a length ends here. @returns the remaining bytes for the caller */
  #endAnswers(): Buffer {
    const [first] = this.#open;
    // Answers to the other requests may have passed as part of this answer.
    const isDoubtful = first?.answer.isUnreadable === true || this.#open.length > 1;
    if (this.#answers.isUntilEnd && isDoubtful) this.#loseOpen();
    return this.#answers.finish();
  }

  #keep(exchange: Exchange | null | undefined, side: "request" | "answer", part: Buffer): void {
    if (exchange != null) keepPart(exchange[side], part, this.#context.kept);
  }

  #beginRequest(bytes: Buffer, isWhole: boolean): ReadHead | null {
    const text = bytes.toString("latin1");
    const head = parseHead(text, "request");
    const line = parseRequestLine(head.startLine);
    if (line === null) return this.#refuse("a request does not begin with an HTTP/1.1 request line");
    if (isWhole && !text.endsWith("\n")) return this.#refuse("a request's lines end with CR only");
    // After a CONNECT all bytes would pass unread (decision 278).
    if (line.method.toUpperCase() === "CONNECT") return this.#refuse("CONNECT would open a tunnel");
    if (this.#open.length === MOST_OPEN) return this.#refuse(`${MOST_OPEN} requests are waiting for answers`);
    const found = findPath(line.target);
    const exchange = this.#openExchange(line, fieldOf(head, "content-encoding"));
    this.#open.push(exchange);
    this.#sending = exchange;
    const { framing, doubt, isLast } = isWhole ? endingOfRequest(head) : TOO_LONG;
    exchange.isLast = isLast;
    if (doubt !== null) this.#doubt(exchange, "request", doubt);
    const at = line.at + (found?.at ?? 0);
    const prefix = found === null ? "" : this.#prefix;
    const passed = `${text.slice(0, at)}${prefix}${withoutHttp2(text.slice(at))}`;
    return { framing, passed: passed === text ? bytes : Buffer.from(passed, "latin1") };
  }

  #refuse(reason: string): null {
    this.#context.onUnreadable?.(`${reason}. The request was not passed on`);
    this.#context.tally.unpassed += 1;
    this.#isClosing = true;
    return null;
  }

  #openExchange({ method, target }: RequestLine, coding: string | null): Exchange {
    const { now, tally, onOther } = this.#context;
    const name = callbackAt(findPath(target)?.path ?? target);
    const isPost = method.toUpperCase() === "POST";
    const callback = isPost && name !== "checkBalance" ? name : null;
    const other = isPost && name !== null ? null : showTarget(method, target);
    if (callback === null) tally.others += 1;
    if (other !== null && !SAFE.has(method.toUpperCase())) onOther?.(other);
    const request = emptyBody(callback === null ? 0 : MOST_BODY_BYTES, coding);
    const answer = emptyBody(callback !== null ? MOST_BODY_BYTES : other !== null ? MOST_OTHER_BYTES : 0);
    return { method, callback, other, receivedAt: now(), request, answer, status: 0, isLast: false };
  }

  #endRequest(): void {
    const exchange = this.#sending;
    if (exchange === null) return;
    exchange.request.isWhole = true;
    this.#sending = null;
    if (exchange.isLast || this.#isClosing) this.#stopRequests();
    const early = this.#early.indexOf(exchange);
    if (early < 0) return;
    this.#early.splice(early, 1);
    this.#record(exchange);
  }

  #beginAnswer(bytes: Buffer, isWhole: boolean): ReadHead {
    const head = parseHead(bytes.toString("latin1"), "answer");
    const status = Number(STATUS_LINE.exec(head.startLine)?.[1] ?? Number.NaN);
    const [exchange] = this.#open;
    const known = Number.isNaN(status) ? NO_STATUS : endingOfAnswer(head, exchange?.method ?? "POST", status);
    const { framing, doubt, isLast } = isWhole ? known : TOO_LONG;
    if (exchange === undefined) return this.#passUnasked(bytes, status, framing);
    this.#isFinal = !(status < 200) || status === 101;
    if (this.#isFinal) {
      exchange.status = status;
      exchange.answer.coding = fieldOf(head, "content-encoding");
    }
    if (isLast || framing === "until-end") {
      exchange.isLast = true;
      this.#stopRequests();
    }
    if (doubt !== null) this.#doubt(exchange, "answer", doubt);
    // Further bytes would pass unread (decision 278).
    if (status === 101) this.#loseOpen();
    return { framing, passed: bytes };
  }

  /** An answer without a request: a server closes an idle connection (408), or the tap did not see the request. */
  #passUnasked(bytes: Buffer, status: number, framing: Framing): ReadHead {
    if (status >= 200 && status < 300) this.#context.tally.lost.unreadable += 1;
    if (status !== 408) this.#context.onUnreadable?.("an answer came without a request");
    this.#stopRequests();
    return { framing, passed: bytes };
  }

  #endAnswer(): void {
    if (!this.#isFinal) return;
    const exchange = this.#open.shift();
    if (exchange === undefined) return;
    exchange.answer.isWhole = true;
    // Requests already sent are answered before the connection ends.
    if (exchange.isLast) this.#stopRequests();
    if (exchange.request.isWhole || exchange.request.isUnreadable) this.#record(exchange);
    else this.#early.push(exchange);
  }

  /** No request passes after the one that is being sent. */
  #stopRequests(): void {
    this.#isClosing = true;
    if (this.#sending === null) this.#requests.stop();
  }

  /** The end of this message is uncertain, so its exchange is not recorded, and the connection ends after it (decision 276). */
  #doubt(exchange: Exchange | null | undefined, side: "request" | "answer", reason: string): void {
    this.#context.onUnreadable?.(reason);
    if (exchange == null) return;
    exchange[side].isUnreadable = true;
    exchange.isLast = true;
    dropBody(exchange[side], this.#context.kept);
    this.#stopRequests();
  }

  /** Counts all open requests as lost, because their answers may have passed unseen. */
  #loseOpen(): void {
    this.#context.tally.lost.unreadable += this.#forget(this.#open) + this.#forget(this.#early);
  }

  /** @returns the number of callbacks among them */
  #forget(exchanges: Exchange[]): number {
    const all = exchanges.splice(0);
    for (const { request, answer } of all) {
      dropBody(request, this.#context.kept);
      dropBody(answer, this.#context.kept);
    }
    return all.filter(({ callback }) => callback !== null).length;
  }

  #record(exchange: Exchange): void {
    const { callback, other, receivedAt, request, answer, status } = exchange;
    const { tally, kept, onOther } = this.#context;
    const response = textOf(answer);
    const isFailure = status < 200 || status > 299;
    const said = isFailure || callback === null ? readSaid(response) : null;
    // For example, a gateway's error page: the operator moved no money (decision 279). An answer that only looks like one of the interface,
    // for example because it is cut off, is recorded, and rejected when it is stored.
    const isRefusal = isFailure && said === null && !response.includes("statusCode");
    if (callback === null) {
      if (other !== null && said?.isMove === true) {
        tally.lost["unknown-path"] += 1;
        onOther?.(other);
      }
    } else if (answer.isUnreadable || (request.isUnreadable && !isRefusal)) tally.lost.unreadable += 1;
    else if (request.isTooLarge || answer.isTooLarge) tally.lost["too-large"] += 1;
    else if (isRefusal) tally.refused += 1;
    else if (isFailure && said?.isSuccess === true) tally.lost["status-differs"] += 1;
    else this.#answered.push({ callback, receivedAt, request: textOf(request), response });
    dropBody(request, kept);
    dropBody(answer, kept);
  }
}

function unknownEnding(doubt: string): Ending {
  return { framing: "until-end", doubt, isLast: true };
}
