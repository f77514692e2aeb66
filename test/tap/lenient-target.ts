/** A target that accepts what strict servers refuse, and a caller that reads its answers as leniently. */

import { eventually } from "../support/eventually.ts";
import { answer, call, PLACEMENT, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

export const LENGTH = Buffer.byteLength(SUCCESS);
export const withHead = (fields: string, body = SUCCESS) => `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n${body}`;
export const idOf = (id: string) => PLACEMENT.replace("request-1", id);
export const codesIn = (text: string) => text.match(/HTTP\/1\.1 \d{3}/g)?.map((line) => line.slice(9)) ?? [];

/**
 * A target below /api that accepts everything that ends like a body of these tests, and answers other paths with 404.
 * @param answers to its first requests; later ones get a plain success
 */
export async function startTarget(...answers: readonly string[]) {
  const taken: string[] = [];
  const { url } = await startSocketServer((socket) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      for (let end = endOf(text); end > 0; end = endOf(text)) {
        const request = text.slice(0, end);
        text = text.slice(end);
        const isFound = /^\S+\s+(?:http:\/\/[^/]+)?\/api\//.test(request);
        if (isFound) taken.push(request);
        socket.write(
          isFound ? (answers[taken.length - 1] ?? answer(SUCCESS)) : answer("{}", "HTTP/1.1 404 No"),
        );
      }
    });
    socket.on("end", () => socket.end());
  });
  const tapped = await startTapped(`${url}/api`);
  return { ...tapped, taken };
}

function endOf(text: string): number {
  const end = /\]\}(?:\r\n0\r\n\r\n)?/.exec(text);
  return end === null ? 0 : end.index + end[0].length;
}

/** Sends requests one after the other, each once the one before is answered; stops when the connection ends. */
export async function converse(port: number, requests: readonly string[]) {
  const caller = await call(port);
  let isEnded = false;
  void caller.ended.then(() => {
    isEnded = true;
  });
  let sent = 0;
  for (const request of requests) {
    if (isEnded) break;
    const before = caller.text().length;
    caller.socket.write(request);
    sent += 1;
    await eventually(
      "it is answered",
      () => isEnded || /\}(?:\r\n0\r\n\r\n)?$/.test(caller.text().slice(before)),
    );
  }
  return { sent, text: () => caller.text(), ended: caller.ended, socket: caller.socket };
}
