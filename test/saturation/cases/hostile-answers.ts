import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../src/embedded/child-process.ts";
import { startOwnPostgres } from "../../simulation/own-postgres.ts";
import { eventually } from "../../support/eventually.ts";
import { atMost, type SaturationCase, same } from "../case.ts";
import { hostileAnswers } from "../hostile-answers.ts";

const ROOT = join(import.meta.dirname, "../../..");
const MEASURE_MS = 20_000;
const LONGEST_BLOCK_MS = 200;
const MOST_MEGABYTES = 600;

export const saturation: SaturationCase = {
  name: "hostile-answers",
  what: "each product's provider answers with something else that is far larger than a page of bets, all of them at once",
  run: async (report) => {
    const answers = [...hostileAnswers(1)].map(([, make]) => make());
    let asked = 0;
    const provider = createServer((request, response) => {
      asked += 1;
      const number = Number(/productId=P(\d+)/.exec(request.url ?? "")?.[1] ?? 0);
      const { body, isPacked } = answers[number] ?? { body: Buffer.from('{"code":0}'), isPacked: false };
      response.writeHead(200, isPacked ? { "content-encoding": "gzip" } : {});
      response.end(body);
    });
    provider.listen(0, "127.0.0.1");
    await once(provider, "listening");
    const { port } = provider.address() as AddressInfo;
    const server = await startOwnPostgres();
    const folder = mkdtempSync(join(tmpdir(), "recon-saturation-"));
    const opsPort = await freePort();
    const worker = startWorker(folder, answers.length, {
      DATABASE_URL: server.url,
      PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
      OPS_PORT: String(opsPort),
    });
    try {
      const health = () => fetch(`http://127.0.0.1:${opsPort}/healthz`).then(({ ok }) => ok);
      await eventually("the worker runs", () => health().catch(() => false), 30_000);
      await eventually("it asks", () => asked > 0, 30_000);
      // The loading of the program at its start is no answer of the provider.
      worker.kill("SIGUSR2");
      await sleep(MEASURE_MS);
      const isUp = worker.exitCode === null && worker.signalCode === null;
      const blockedMs = Number(readFileSync(join(folder, "measured"), "utf8"));
      const status = isUp ? readFileSync(`/proc/${worker.pid}/status`, "utf8") : "";
      const peakMegabytes = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024);
      report(
        { what: "requests that were answered so", value: asked, bar: "> 12", holds: asked > 12 },
        same("the worker still runs", String(isUp), "true"),
        atMost("the event loop's longest block, in ms", blockedMs, LONGEST_BLOCK_MS),
        atMost("peak memory of the worker, in MB", peakMegabytes, MOST_MEGABYTES),
      );
    } finally {
      worker.kill("SIGKILL");
      await once(worker, "exit");
      await server.stop();
      provider.closeAllConnections();
      provider.close();
      rmSync(folder, { recursive: true });
    }
  },
};

function startWorker(folder: string, products: number, environment: Record<string, string>) {
  const config = join(folder, "recon.config.json");
  const all = Array.from({ length: products }, (_, index) => ({ productId: `P${index}` }));
  writeFileSync(config, JSON.stringify({ products: all, pull: { every: "PT1S" } }));
  const flags = ["--max-semi-space-size=8", "--heap-growing-percent=40"];
  const measuring = ["--import", join(import.meta.dirname, "../measure-process.ts")];
  const program = join(ROOT, "src/cli/main.ts");
  return spawn(process.execPath, [...flags, ...measuring, program, "worker"], {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      PROVIDER_USERNAME: "u",
      PROVIDER_PASSWORD: "p",
      RECON_CONFIG: config,
      LOG_LEVEL: "fatal",
      MEASURE_INTO: join(folder, "measured"),
      ...environment,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
}
