/** A provider on a real HTTP server, whose every answer the test writes: it does what no sandbox would do. */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { beforeEach } from "vitest";
import { type Instant, parseInstant } from "../../src/clock.ts";
import { BEYOND_ENDS_MS } from "../../src/window.ts";
import { useServer } from "./use-server.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** the window that is asked for: the requested range without the second beyond both ends; null: no cursor */
  readonly from: Instant;
  readonly to: Instant;
  readonly nextId: string | null;
}

/** Writes the answer, or breaks the connection. */
export type Respond = (response: ServerResponse) => void;

export interface HttpProvider {
  /** base URL, without a slash at its end; exists while the tests run */
  url(): string;
  /** Decides how every later request of this test is answered. */
  answer(script: (asked: ReceivedRequest) => Respond): void;
  /** all requests of this test, in order */
  readonly asked: readonly ReceivedRequest[];
}

export const CREDENTIALS = { username: "agent", password: "not to be seen" };

/** Call at the top of a test file. Each test begins with a provider that has no records. */
export function useHttpProvider(): HttpProvider {
  const asked: ReceivedRequest[] = [];
  let script: (asked: ReceivedRequest) => Respond = () => page([]);
  const server = createServer((request, response) => {
    const one = readRequest(request);
    asked.push(one);
    script(one)(response);
  });
  const url = useServer(server);
  beforeEach(() => {
    asked.length = 0;
    script = () => page([]);
  });
  return {
    url,
    answer: (next) => {
      script = next;
    },
    asked,
  };
}

function readRequest({ method = "", url = "/", headers }: IncomingMessage): ReceivedRequest {
  const { pathname, searchParams } = new URL(url, "http://provider");
  const instantOf = (name: string) => parseInstant(searchParams.get(name) ?? "", name);
  return {
    method,
    path: pathname,
    parameters: Object.fromEntries(searchParams),
    headers,
    from: instantOf("startTime") + BEYOND_ENDS_MS,
    to: instantOf("endTime") - BEYOND_ENDS_MS,
    nextId: searchParams.get("nextId"),
  };
}

/**
 * A bet record as the provider writes it (§2.4).
 * @param fields values as JSON text; undefined leaves a field out
 */
export function betItem(fields: Readonly<Record<string, string | undefined>> = {}): string {
  const record = { ...EXAMPLE_ITEM, ...fields };
  const written = Object.entries(record).filter(([, value]) => value !== undefined);
  return `{${written.map(([field, value]) => `${JSON.stringify(field)}:${value}`).join(",")}}`;
}

const EXAMPLE_ITEM: Readonly<Record<string, string>> = {
  id: '"rec-1"',
  betId: '"bet-1"',
  username: '"anna"',
  currency: '"THB"',
  accountingDate: '"2026-11-20T18:59:00.000+07:00"',
  updatedDate: '"2026-11-20T18:59:00.000+07:00"',
  stake: "10.00",
  payout: "0",
  productId: '"P1"',
  gameCode: '"G1"',
  gameName: '"Game One"',
  roundId: '"round-1"',
  betStatus: '"SETTLED"',
  payoutStatus: '"LOSE"',
};

/** One chunk of records (§4.B3). Each item is JSON text, so that the test writes every digit. */
export function pageBody(items: readonly string[], nextId?: string): string {
  const cursor = nextId === undefined ? "" : `"nextId":${JSON.stringify(nextId)},`;
  return `{"reqId":"r","code":0,"message":"success","data":{${cursor}"txns":[${items.join(",")}]}}`;
}

export const page = (items: readonly string[], nextId?: string): Respond => body(pageBody(items, nextId));

export function body(text: string): Respond {
  return (response) => response.writeHead(200, { "content-type": "application/json" }).end(text);
}

export function status(code: number, headers: Record<string, string> = {}): Respond {
  return (response) => response.writeHead(code, headers).end();
}

/** Never answers. */
export const hang: Respond = () => {};

export const drop: Respond = (response) => response.socket?.destroy();

/** Announces the whole text, sends its first half, and hangs up. */
export function cutShort(text: string): Respond {
  return (response) => {
    response.writeHead(200, { "content-length": Buffer.byteLength(text) });
    response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
  };
}
