/**
 * Runs a command of `recon` in this process, which takes a hundredth of the time of a process of its own. For commands
 * that end by themselves; `startRecon` shows what only a process has: signals, a pipe, a terminal, the log.
 */

import type { EventEmitter } from "node:events";
import { stderr, stdin, stdout } from "node:process";
import { Readable } from "node:stream";
import { WriteStream } from "node:tty";
import { runRecon } from "../../src/cli/program.ts";
import type { Ended } from "./run-recon.ts";

const SIGNALS = ["SIGINT", "SIGTERM"];

/** The last command. A command uses what the whole process has once, so that only one runs at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `recon` with these arguments and nothing else in its environment.
 * @param input all of standard input
 * @param columns of the terminal that shows standard output; 0: there is no terminal
 */
export function callRecon(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  input = "",
  columns = 0,
): Promise<Ended> {
  const ended = last.then(() => call(args, environment, input, columns));
  last = ended.catch(() => {});
  return ended;
}

async function call(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  input: string,
  columns: number,
): Promise<Ended> {
  const outputs = [capture(stdout), capture(stderr)] as const;
  const releases = [
    ...outputs.map(({ release }) => release),
    ...SIGNALS.map((name) => holdListeners(process, name)),
    redefine(stdin, "isTTY", false),
    redefine(stdout, "isTTY", columns > 0),
    redefine(stdout, "columns", columns),
    redefine(stdout, "getColorDepth", WriteStream.prototype.getColorDepth),
    redefine(stdin, Symbol.asyncIterator, () => Readable.from([input])[Symbol.asyncIterator]()),
  ];
  const own = { environment: { ...process.env }, exitCode: process.exitCode };
  setEnvironment({ PATH: process.env["PATH"], ...environment });
  process.exitCode = undefined;
  try {
    await runRecon(args);
    return { code: Number(process.exitCode ?? 0), stdout: outputs[0].said(), stderr: outputs[1].said() };
  } finally {
    process.exitCode = own.exitCode;
    setEnvironment(own.environment);
    for (const release of releases) release();
  }
}

function setEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value;
}

/** @returns gives the property back */
function redefine(owner: object, name: string | symbol, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}

/** Keeps what is written, instead of writing it. */
function capture(stream: NodeJS.WriteStream): { said(): string; release(): void } {
  const chunks: Buffer[] = [];
  const { write, isTTY } = stream;
  const releaseListeners = holdListeners(stream, "error");
  stream.isTTY = false;
  stream.write = (chunk: string | Uint8Array) => {
    chunks.push(Buffer.from(chunk));
    return true;
  };
  return {
    said: () => Buffer.concat(chunks).toString(),
    release: () => {
      stream.write = write;
      stream.isTTY = isTTY;
      releaseListeners();
    },
  };
}

/** @returns removes the listeners that came since: a process that ends needs not remove its own */
function holdListeners(emitter: EventEmitter, name: string): () => void {
  const before = emitter.listeners(name);
  return () => {
    for (const listener of emitter.listeners(name).filter((one) => !before.includes(one)))
      emitter.off(name, listener as () => void);
  };
}
