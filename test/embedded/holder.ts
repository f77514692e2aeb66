/** Starts the holder command as a process of its own and reads its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Holder {
  readonly child: ChildProcess;
  /** all standard output so far */
  output(): string;
  /** Waits for the first line, which names the server. */
  ready(): Promise<{ url: string; started: boolean }>;
  /** Waits for the end of the process. Returns its exit code. */
  ended(): Promise<number | null>;
}

/** `arguments_`: those of holder-process.ts. The process leads a group of its own, as a command in a terminal does. */
export function startHolder(arguments_: string[], options: { uid?: number; gid?: number } = {}): Holder {
  const script = fileURLToPath(new URL("./holder-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, ...arguments_], {
    ...options,
    cwd: "/",
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString("utf8");
  });
  const closed = once(child, "close");
  const ready = async () => {
    while (!output.includes("\n")) {
      const gone = await Promise.race([
        once(child.stdout, "data").then(() => false),
        closed.then(() => true),
      ]);
      if (gone) throw new Error(`the holder ended: ${errors}`);
    }
    return JSON.parse(output.slice(0, output.indexOf("\n")));
  };
  return { child, output: () => output, ready, ended: async () => (await closed)[0] };
}
