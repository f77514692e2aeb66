/**
 * Runs a command of `recon` in this process, which takes a hundredth of the time of a process of its own. For commands
 * that end by themselves; `startRecon` shows what only a process has: signals, standard input, a terminal, the log.
 */

import type { EventEmitter } from "node:events";
import { stderr, stdin, stdout } from "node:process";
import { runRecon } from "../../src/cli/program.ts";
import type { Ended } from "./run-recon.ts";

const SIGNALS = ["SIGINT", "SIGTERM"];

/** The last command. A command uses what the whole process has once, so that only one runs at a time. */
let last: Promise<unknown> = Promise.resolve();

/** Runs `recon` with these arguments and nothing else in its environment. Nobody sits at a terminal. */
export function callRecon(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Ended> {
  const ended = last.then(() => call(args, environment));
  last = ended.catch(() => {});
  return ended;
}

async function call(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Ended> {
  const outputs = [capture(stdout), capture(stderr)] as const;
  const releases = [
    ...outputs.map(({ release }) => release),
    ...SIGNALS.map((name) => holdListeners(process, name)),
  ];
  const own = { environment: { ...process.env }, exitCode: process.exitCode };
  const isTerminal = Object.getOwnPropertyDescriptor(stdin, "isTTY");
  Object.defineProperty(stdin, "isTTY", { value: false, configurable: true });
  setEnvironment({ PATH: process.env["PATH"], ...environment });
  process.exitCode = undefined;
  try {
    await runRecon(args);
    return { code: Number(process.exitCode ?? 0), stdout: outputs[0].said(), stderr: outputs[1].said() };
  } finally {
    process.exitCode = own.exitCode;
    setEnvironment(own.environment);
    if (isTerminal === undefined) Reflect.deleteProperty(stdin, "isTTY");
    else Object.defineProperty(stdin, "isTTY", isTerminal);
    for (const release of releases) release();
  }
}

function setEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value;
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
