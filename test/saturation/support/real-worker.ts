/** `recon worker` in a process of its own, as in production, with the memory that it took. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const PROGRAM = join(import.meta.dirname, "../../../src/cli/main.ts");
/** The same as in `bin`. */
const NODE_OPTIONS = ["--max-semi-space-size=8", "--heap-growing-percent=40"];
const LONGEST_START_MS = 30_000;

export interface RealWorker {
  /** of its ops server */
  readonly url: string;
  /** the largest memory it ever had, in MB */
  peakMegabytes(): number;
  stop(): Promise<void>;
}

export async function startRealWorker(
  databaseUrl: string,
  config: unknown,
  environment: Readonly<Record<string, string>>,
): Promise<RealWorker> {
  const folder = mkdtempSync(join(tmpdir(), "recon-saturate-"));
  writeFileSync(join(folder, "recon.config.json"), JSON.stringify(config));
  const port = await findFreePort();
  const child = spawn(process.execPath, [...NODE_OPTIONS, PROGRAM, "worker"], {
    env: {
      PATH: process.env["PATH"],
      DATABASE_URL: databaseUrl,
      RECON_CONFIG: join(folder, "recon.config.json"),
      OPS_PORT: String(port),
      LOG_LEVEL: "error",
      ...environment,
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true });
  };
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + LONGEST_START_MS;
  for (;;) {
    const isUp = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    if (performance.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error("the worker did not start");
    }
    await pause(100);
  }
  const peakMegabytes = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  return { url, peakMegabytes, stop };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}
