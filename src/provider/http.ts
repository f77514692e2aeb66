/** Sends one request to the provider over HTTP: returns a complete answer, or rejects with a ReconError. */

import { isUtf8 } from "node:buffer";
import { setImmediate as afterOtherEvents } from "node:timers/promises";
import got, { type Got, type PlainResponse, type Request } from "got";
import { type Clock, monotonicMs } from "../clock.ts";
import { isLoopback, type ProviderSettings } from "../config.ts";
import { ReconError } from "../errors.ts";
import { openAgents } from "../outgoing.ts";
import { describe, LONGEST_EVIDENCE, type ReceivedAnswer } from "./envelope.ts";
import { errorOfStatus, NOT_WHOLE, readDate, readRetryAfter, toReconError } from "./errors-of-request.ts";

export interface ProviderLimits {
  readonly requestTimeoutMs: number;
  readonly connections: number;
  readonly production: boolean;
  /** called with the Date header of every answer; null: there is none */
  readonly onDate?: (date: string | null) => void;
}

export interface ProviderRequest {
  readonly method: "GET" | "POST";
  /** below the base URL, without a slash at its beginning */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** sent as JSON */
  readonly body?: object;
  /** names the request in messages: "deposit R1 of P1 for anna" */
  readonly what: string;
  /** the most bytes after decompression; a larger answer is an error */
  readonly largestBytes: number;
  /** reads the answer's list while it arrives, so only the beginning of the text is kept */
  readonly list?: ListReader;
  /** keeps the whole text even with `list` */
  readonly keepsText?: boolean;
  /** secrets besides the credentials; "all": the answer itself holds a token */
  readonly secrets?: ReceivedAnswer["secrets"];
}

export interface ListReader {
  /** @throws ReconError if the rest need not be read */
  take(chunk: Buffer): void;
  /** the text without the items, to be parsed */
  rest(): string;
}

export interface ProviderHttp {
  /** Sends a request once. Rejects with a ReconError with a code of `provider-*`, or with the signal's reason. */
  send(request: ProviderRequest, signal: AbortSignal | undefined): Promise<ReceivedAnswer>;
  close(): void;
}

/**
 * Opens the connection agents without sending anything.
 * @throws ReconError `settings-invalid` for plain http to another machine in production, and for an invalid base URL
 */
export function openHttp(settings: ProviderSettings, limits: ProviderLimits, clock: Clock): ProviderHttp {
  const base = new URL(settings.baseUrl);
  if (limits.production && base.protocol !== "https:" && !isLoopback(base.hostname)) {
    throw new ReconError(
      "settings-invalid",
      `PROVIDER_BASE_URL: ${base.origin} is plain http; in production credentials are sent over https only`,
    );
  }
  if (base.search !== "" || base.hash !== "") {
    throw new ReconError(
      "settings-invalid",
      "PROVIDER_BASE_URL has a query or a fragment: the paths of the agent API are appended to it",
    );
  }
  const agents = openAgents(limits.connections);
  const http = got.extend({
    prefixUrl: settings.baseUrl,
    username: settings.username,
    password: settings.password,
    timeout: { request: limits.requestTimeoutMs },
    // The caller decides about further attempts. A request that moves money is never sent twice.
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    agent: agents,
    headers: { accept: "application/json", "accept-encoding": ENCODINGS, "user-agent": "wallet-recon" },
  });
  const credentials = secretsOf(settings);
  return {
    send: (request, signal) => send(http, clock, request, signal, { credentials, onDate: limits.onDate }),
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** The encodings that got decodes in every supported version of Node. */
const ENCODINGS = "gzip, deflate, br";

/** The secrets that no error may show: the password, and both values as in the header. */
function secretsOf({ username, password }: ProviderSettings): string[] {
  return [password, Buffer.from(`${username}:${password}`).toString("base64")];
}

async function send(
  http: Got,
  clock: Clock,
  request: ProviderRequest,
  signal: AbortSignal | undefined,
  { credentials, onDate }: { credentials: readonly string[]; onDate: ProviderLimits["onDate"] },
): Promise<ReceivedAnswer> {
  const { method, path, query, body, what, list } = request;
  const secrets: ReceivedAnswer["secrets"] =
    request.secrets === "all" ? "all" : [...credentials, ...(request.secrets ?? [])];
  try {
    const asked = http.stream(path, {
      method,
      ...(query === undefined ? {} : { searchParams: query }),
      ...(body === undefined ? {} : { json: body }),
      ...(signal === undefined ? {} : { signal }),
    });
    const { response, text } = await readAnswer(asked, request, onDate);
    const answered = { what, status: response.statusCode, text, secrets };
    if (isSuccess(response)) return list === undefined ? answered : { ...answered, rest: list.rest() };
    throw errorOfStatus(
      what,
      describe(answered),
      readRetryAfter(response.headers["retry-after"], readDate(response.headers.date) ?? clock.now()),
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw toReconError(error, what);
  }
}

/** Reading a piece of this size takes a few milliseconds. */
const PIECE_BYTES = 16 * 1024;

const isSuccess = ({ statusCode }: PlainResponse) =>
  statusCode >= 200 && statusCode < 300 && !NOT_WHOLE.has(statusCode);

/** Decompresses the answer while it arrives, up to the limit: a few kilobytes can hold a very large answer. */
async function readAnswer(
  asked: Request,
  { what, largestBytes, list, keepsText = list === undefined }: ProviderRequest,
  onDate: ProviderLimits["onDate"],
): Promise<{ readonly response: PlainResponse; readonly text: string }> {
  let response: PlainResponse | null = null;
  let transcoder: Transcoder | null | undefined;
  asked.on("response", (begun: PlainResponse) => {
    response = begun;
    onDate?.(begun.headers.date ?? null);
  });
  const kept: Buffer[] = [];
  let bytes = 0;
  let keptBytes = 0;
  for await (const chunk of asked as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (response !== null && !isSuccess(response)) {
      // The body of an error is kept as evidence only.
      kept.push(chunk);
      if (bytes > LONGEST_EVIDENCE) break;
      continue;
    }
    if (bytes > largestBytes) {
      throw new ReconError("provider-too-large", `${what}: the answer is larger than ${largestBytes} bytes`);
    }
    if (transcoder === undefined) {
      if (!isPlain(chunk)) refuseEncoding(response, what);
      transcoder = openTranscoder(contentTypeOf(response), what);
    }
    await takeText(transcoder === null ? chunk : transcoder.take(chunk));
  }
  if (transcoder !== null && transcoder !== undefined) await takeText(transcoder.end());
  if (response === null) throw new Error(`${what} was answered with nothing`);
  const whole = Buffer.concat(kept);
  // The list's reader has read the text already, so it is kept as evidence only.
  const isEvidence = !isSuccess(response) || list !== undefined;
  if (!isEvidence && !isUtf8(whole)) {
    const problem = `${what}: the answer has a text that is not in its charset`;
    throw new ReconError("provider-not-json", problem, { retryable: true });
  }
  // TextDecoder drops a byte order mark.
  return {
    response,
    text: new TextDecoder().decode(keepsText ? whole : whole.subarray(0, LONGEST_EVIDENCE)),
  };

  async function takeText(text: Buffer): Promise<void> {
    if (keepsText || keptBytes < LONGEST_EVIDENCE) kept.push(text);
    keptBytes += text.length;
    for (let at = 0; list !== undefined && at < text.length; at += PIECE_BYTES) {
      await runPiece(() => list.take(text.subarray(at, at + PIECE_BYTES)));
    }
  }
}

/** Whether an answer begins as JSON does. Some servers name a charset as its encoding: "Content-Encoding: utf-8". */
const isPlain = (chunk: Buffer) => /^(?:\xef\xbb\xbf)?\s*\{/.test(chunk.subarray(0, 64).toString("latin1"));

/** got removes the header of an encoding that it has decoded. */
function refuseEncoding(response: PlainResponse | null, what: string): void {
  const encoding = response?.headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() === "identity") return;
  const problem = `${what}: the answer is compressed as "${encoding.slice(0, 40)}", but only ${ENCODINGS} was asked for`;
  throw new ReconError("provider-not-json", problem, { retryable: true });
}

function contentTypeOf(response: PlainResponse | null): string | undefined {
  return response?.headers["content-type"];
}

interface Transcoder {
  /** @returns UTF-8; bytes that are not of the charset become `NO_TEXT` */
  take(chunk: Buffer): Buffer;
  /** the rest, if the answer ended within a character */
  end(): Buffer;
}

/** Never part of UTF-8, so a text with it is refused. With a replacement character, two player names could become one. */
const NO_TEXT = Buffer.from([0xff]);
const REPLACEMENT = "\ufffd";

/**
 * Shift_JIS and GBK use the byte of a backslash within characters, so an answer is decoded before it is cut into records.
 * @returns null: the answer is in UTF-8, or does not say its charset
 * @throws ReconError `provider-not-json` if the charset is unknown
 */
function openTranscoder(contentType: string | undefined, what: string): Transcoder | null {
  const [, label] = /;\s*charset\s*=\s*"?([^\s;",]+)/i.exec(contentType ?? "") ?? [];
  if (label === undefined) return null;
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(label);
  } catch {
    const problem = `${what}: the answer's charset "${label.slice(0, 40)}" is unknown`;
    throw new ReconError("provider-not-json", problem, { retryable: true });
  }
  if (decoder.encoding === "utf-8") return null;
  const encode = (text: string): Buffer => {
    if (!text.includes(REPLACEMENT)) return Buffer.from(text);
    return Buffer.concat(
      text
        .split(REPLACEMENT)
        .flatMap((part, index) => (index === 0 ? [] : [NO_TEXT]).concat(Buffer.from(part))),
    );
  };
  return {
    take: (chunk) => encode(decoder.decode(chunk, { stream: true })),
    end: () => encode(decoder.decode()),
  };
}

/** When pieces have run for this long, the process handles its other events first. */
const LONGEST_BLOCK_MS = 20;

let last: Promise<unknown> = Promise.resolve();
let blockBeganAtMs = 0;

/**
 * Runs a piece after all earlier ones. Rejects with the error of the piece.
 * @param piece takes some milliseconds
 */
async function runPiece(piece: () => void): Promise<void> {
  const done = last.then(async () => {
    if (monotonicMs() - blockBeganAtMs > LONGEST_BLOCK_MS) {
      await afterOtherEvents();
      blockBeganAtMs = monotonicMs();
    }
    piece();
  });
  last = done.catch(() => {});
  await done;
}
