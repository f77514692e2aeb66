/** The ways to send an answer, with the wrong ways of the faults. */

import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { Clock } from "../../clock.ts";

export interface Waits {
  /** @returns true: the time is over; false: the client is gone, or all waits were ended */
  wait(response: ServerResponse, lengthMs: number): Promise<boolean>;
  /** Ends all present and future waits. */
  releaseAll(): void;
}

/** @param clock measures the waits in the time of the clients, which is not the world's time */
export function createWaits(clock: Clock): Waits {
  const waiting = new Set<AbortController>();
  let released = false;
  return {
    async wait(response, lengthMs) {
      if (released || response.destroyed) return false;
      const wait = new AbortController();
      const end = () => wait.abort();
      waiting.add(wait);
      response.once("close", end);
      await clock.sleep(lengthMs, wait.signal);
      response.off("close", end);
      waiting.delete(wait);
      return !wait.signal.aborted;
    },
    releaseAll() {
      released = true;
      for (const wait of waiting) wait.abort();
    },
  };
}

export type Delivery =
  /** sent at once; default: HTTP 200 and JSON */
  | {
      readonly way: "whole";
      readonly status?: number;
      readonly type?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | { readonly way: "late"; readonly afterMs: number; readonly body: string }
  /** after this many megabytes of white space, which are never all in memory */
  | { readonly way: "padded"; readonly megabytes: number; readonly body: string }
  /** its length is promised, half of it is sent, then the connection ends */
  | { readonly way: "cut-short"; readonly body: string }
  /** the connection ends before an answer */
  | { readonly way: "drop" }
  /** nothing is ever sent */
  | { readonly way: "hang" }
  /** the headers, then a byte now and then */
  | { readonly way: "drip" };

export const JSON_TYPE = "application/json; charset=utf-8";

/** The longest time that an answer is held back, so that no connection stays for ever. */
const LONGEST_HOLD_MS = 120_000;
const DRIP_EVERY_MS = 1_000;
const PADDING = Buffer.alloc(64 * 1024, " ");
const PADDINGS_OF_MEGABYTE = 16;

export async function deliver(reply: FastifyReply, delivery: Delivery, waits: Waits): Promise<FastifyReply> {
  switch (delivery.way) {
    case "whole":
      reply.code(delivery.status ?? 200).headers(delivery.headers ?? {});
      return reply.type(delivery.type ?? JSON_TYPE).send(delivery.body);
    case "late":
      await waits.wait(reply.raw, delivery.afterMs);
      return reply.send(delivery.body);
    case "padded":
      return reply.send(Readable.from(padded(delivery.megabytes, delivery.body), { objectMode: false }));
    case "cut-short":
      return cutShort(reply.hijack(), delivery.body);
    case "drop":
      reply.hijack().raw.destroy();
      return reply;
    case "hang":
      await waits.wait(reply.hijack().raw, LONGEST_HOLD_MS);
      reply.raw.destroy();
      return reply;
    case "drip":
      return drip(reply.hijack(), waits);
  }
}

function* padded(megabytes: number, body: string): Generator<Buffer> {
  for (let left = megabytes * PADDINGS_OF_MEGABYTE; left > 0; left--) yield PADDING;
  yield Buffer.from(body);
}

function cutShort(reply: FastifyReply, body: string): FastifyReply {
  const bytes = Buffer.from(body);
  reply.raw.writeHead(200, { "content-type": JSON_TYPE, "content-length": bytes.length });
  reply.raw.write(bytes.subarray(0, bytes.length / 2), () => reply.raw.destroy());
  return reply;
}

async function drip(reply: FastifyReply, waits: Waits): Promise<FastifyReply> {
  reply.raw.writeHead(200, { "content-type": JSON_TYPE });
  reply.raw.flushHeaders();
  for (let heldMs = 0; heldMs < LONGEST_HOLD_MS; heldMs += DRIP_EVERY_MS) {
    reply.raw.write(" ");
    if (!(await waits.wait(reply.raw, DRIP_EVERY_MS))) break;
  }
  reply.raw.destroy();
  return reply;
}
