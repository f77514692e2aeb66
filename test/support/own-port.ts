/** A port for a server that goes away and comes back, or that another process opens later. */

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems assign by themselves, so that no other program gets one of these meanwhile. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;
const MOST_TRIES = 100;

/** @returns a port of 127.0.0.1 that is free, and that no other caller gets */
export async function ownPort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${MOST_TRIES} ports is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
