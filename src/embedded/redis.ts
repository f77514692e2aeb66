/** A real Redis for the tests, because only a real server shows the behaviour of the job queues. */
import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describeError, ReconError } from "../errors.ts";
import { freePort } from "./free-port.ts";
import { guardChild } from "./process-guard.ts";
import { findRedis, type RedisProgram } from "./redis-program.ts";

const START_MS = 10_000;
const STOP_MS = 5_000;
const POLL_MS = 10;
const ATTEMPTS = 5;

export interface RedisServer {
  /** the redis:// URL on 127.0.0.1 */
  readonly url: string;
  readonly port: number;
  /** Ends the server and waits until the process is gone. Idempotent. */
  stop(): Promise<void>;
  /** sends SIGKILL, for crash tests */
  kill(): void;
}

/**
 * Starts an empty Redis that stores nothing on disk. The server does not keep the event loop alive, and ends with
 * this process, even by kill -9.
 * @param port default: a free one
 * @param cache the folder for a downloaded Redis, where the machine has none
 * @throws ReconError `embedded-failed` where there is no Redis, or Redis did not start
 */
export async function startRedis(options: { cache: string; port?: number }): Promise<RedisServer> {
  const program = await findRedis(options.cache);
  let reason = "";
  for (let attempt = 0; attempt < (options.port === undefined ? ATTEMPTS : 1); attempt++) {
    const port = options.port ?? (await freePort());
    const { child, ended, output } = run(program, port);
    if (await becomesReady(child, port)) {
      return {
        url: `redis://127.0.0.1:${port}`,
        port,
        stop: () => stop(child, ended),
        kill: () => child.kill("SIGKILL"),
      };
    }
    child.kill("SIGKILL");
    await ended;
    reason = output();
  }
  throw new ReconError(
    "embedded-failed",
    `Redis (${program.path}) did not start${options.port === undefined ? "" : ` on port ${options.port}`}. It said:\n${reason}`,
  );
}

function run(program: RedisProgram, port: number) {
  const fixed = [
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--appendonly",
    "no",
    "--maxmemory-policy",
    "noeviction",
  ];
  const child = spawn(program.path, [...fixed, "--port", String(port)], {
    // A session of its own: Ctrl-C must first reach the tests, which then clean up.
    detached: true,
    cwd: "/",
    env: program.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString("utf8")).slice(-2_000);
    });
    (stream as unknown as { unref(): void }).unref();
  }
  child.on("error", (error) => {
    text += describeError(error);
  });
  child.unref();
  return { child, ended: guardChild(child, ["KILL"]), output: () => text.trim() };
}

async function becomesReady(child: ChildProcess, port: number): Promise<boolean> {
  const until = Date.now() + START_MS;
  while (Date.now() < until && child.pid !== undefined && child.exitCode === null) {
    // The number proves that this server answers, and not another one that took the port first.
    if ((await ask(port, "INFO server")).includes(`process_id:${child.pid}\r\n`)) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** @returns the answer to one command; empty: nobody answers */
async function ask(port: number, command: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\nQUIT\r\n`));
  socket.setTimeout(1_000, () => socket.destroy());
  socket.on("data", (chunk) => {
    text += chunk.toString("utf8");
  });
  socket.on("error", () => resolve(""));
  socket.on("close", () => resolve(text));
  return promise;
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.ref();
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(late);
}
