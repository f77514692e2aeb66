/** `recon sandbox`: the stand-in provider by itself, for trying out and for tests. */

import type { Command } from "commander";
import { systemClock } from "../clock.ts";
import { ReconError } from "../errors.ts";
import { printLine } from "./print.ts";
import { startTryOut } from "./try-out.ts";
import { TRY_OUT_PRODUCTS } from "./try-out-config.ts";
import { untilTold } from "./until-told.ts";

export function addSandboxCommand(program: Command): void {
  program
    .command("sandbox")
    .description("the stand-in provider by itself: a seeded world of players, over HTTP")
    .option("--host <host>", "where to listen", "127.0.0.1")
    .option("--port <port>", "where to listen; 0: any free port", "4000")
    .option("--seed <number>", "the seed of a new world; without it a random one")
    .action(async (options: { host: string; port: string; seed?: string }) => {
      const told = untilTold();
      const sandbox = await startTryOut(systemClock, null, {
        host: options.host,
        port: readWhole("port", options.port, 65_535),
        seed: options.seed === undefined ? null : readWhole("seed", options.seed, 0xffff_ffff),
      });
      const { baseUrl, username, password } = sandbox.provider;
      printLine(`The sandbox listens; its world has the seed ${sandbox.seed}. For a worker:`);
      printLine(`  PROVIDER_BASE_URL=${baseUrl} PROVIDER_USERNAME=${username} PROVIDER_PASSWORD=${password}`);
      printLine(`  products ${TRY_OUT_PRODUCTS.map(({ productId }) => productId).join(", ")}`);
      await told;
      await sandbox.stop();
    });
}

function readWhole(name: string, text: string, most: number): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= most) return Number(text);
  throw new ReconError("usage", `${name} "${text}" is not a whole number from 0 to ${most}`);
}
