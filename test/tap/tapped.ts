/** A tap in this process, in front of the test's own target, and the content of its journal. */

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createLog } from "../../src/log.ts";
import type { AnsweredCallback } from "../../src/tap/conversation.ts";
import { listSegments } from "../../src/tap/journal.ts";
import { startTap, type Tap, type TapSettings } from "../../src/tap/tap.ts";
import { PATIENT_MS } from "./patience.ts";

export interface Tapped extends Tap {
  readonly port: number;
  readonly folder: string;
  /** its log, line by line */
  readonly logged: () => string;
  /** the content of the journal, in order */
  recorded(): Promise<(Omit<AnsweredCallback, "receivedAt"> & { readonly receivedAt: string })[]>;
}

const NINE_MB = 9_000_000;

/** Ends with the test. @param target where callbacks go, such as "http://127.0.0.1:3001/callbacks" */
export async function startTapped(target: string, settings: Partial<TapSettings> = {}): Promise<Tapped> {
  const folder = mkdtempSync(join(tmpdir(), "recon-tap-"));
  const all = {
    host: "127.0.0.1",
    port: 0,
    target: new URL(target),
    isAllowed: () => true,
    folder,
    mostBytes: NINE_MB,
    patienceMs: PATIENT_MS,
    ...settings,
  };
  const lines: string[] = [];
  const log = createLog("info", [], { write: (line: string) => lines.push(line) });
  const tap = await startTap(all, log, systemClock.now);
  onTestFinished(async () => {
    await tap.close(0);
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    ...tap,
    port: Number(new URL(tap.url).port),
    folder,
    logged: () => lines.join(""),
    recorded: () => readJournal(folder),
  };
}

/** The line that the journal writes: a body that is an object must stay unchanged. */
const LINE = /^\{"callback":"(\w+)","receivedAt":"([^"]+)","request":(.*),"response":(\{.*\}|".*")\}$/;
const bodyIn = (text: string): string => (text.startsWith('"') ? JSON.parse(text) : text);

export async function readJournal(folder: string) {
  const texts = (await listSegments(folder)).map(({ path }) => readFileSync(path, "utf8"));
  return texts
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, callback = "", receivedAt = "", request = "", response = ""] = LINE.exec(line) ?? [];
      return { callback, receivedAt, request: bodyIn(request), response: bodyIn(response) };
    });
}

/** A server of bare sockets; ends with the test. @param serve is given each connection */
export async function startSocketServer(
  serve: (socket: Socket) => void,
): Promise<{ url: string; server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** A connection whose bytes are kept; ends with the test. */
export interface Caller {
  readonly socket: Socket;
  /** all received bytes, as latin1 */
  readonly text: () => string;
  /** resolves with "end", or with the code of the error */
  readonly ended: Promise<string>;
}

export async function call(port: number): Promise<Caller> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  const ended = new Promise<string>((resolve) => {
    socket.once("end", () => resolve("end"));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  return { socket, text: () => Buffer.concat(chunks).toString("latin1"), ended };
}

export const PLACEMENT = JSON.stringify({
  id: "request-1",
  timestampMillis: 1_780_000_000_000,
  productId: "P1",
  currency: "THB",
  username: "anna",
  txns: [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 0.30000000000000004 }],
});
export const SUCCESS = '{"id":"request-1","statusCode":0,"balanceBefore":100,"balanceAfter":99.70}';

export function post(path: string, body: string, fields = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: wallet.example\r\nContent-Type: application/json\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export function answer(body: string, head = "HTTP/1.1 200 OK"): string {
  return `${head}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
