/** The surroundings of a run through callbacks: a provider, `recon callbacks` and `recon worker` over one database. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallbackEntry } from "../../src/callback.ts";
import { systemClock } from "../../src/clock.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import type { PlantedFault } from "../../src/sandbox/world/world.ts";
import { CREDENTIALS } from "../sandbox/agent.ts";
import { ownPort } from "../support/own-port.ts";
import { walletsOf } from "./callback-books.ts";
import { type CallbackPlan, PACE } from "./callback-plan.ts";
import { CALLBACKS, type Crew, startCrew, WORKER } from "./crew.ts";
import { type FastWorld, speedUp } from "./fast-world.ts";
import { createOddWorld } from "./oddities/odd-world.ts";

export interface CallbackStage {
  /** for the wallets' credits and the audit; the processes have connections of their own */
  readonly sql: Sql;
  readonly world: FastWorld;
  readonly planted: readonly PlantedFault[];
  /** an entry of each wallet that must exist */
  readonly wallets: readonly CallbackEntry[];
  readonly crews: Readonly<Record<"worker" | "callbacks", Crew>>;
  /** the address of the callbacks server, and the key that signs them */
  readonly callbacks: { readonly url: string; readonly key: string };
  /** Says that the worker has stored the record of this fault. */
  keep(fault: PlantedFault): void;
  /** Ends the processes in good order. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

const BASE_PATH = "/api/callback";
const KEY = "the key that signs the callbacks";
const PAGE_SIZE = 60;

/** Starts everything except the world. */
export async function openCallbackStage(plan: CallbackPlan, databaseUrl: string): Promise<CallbackStage> {
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-callbacks-"));
  const inner = createOddWorld(plan.world);
  const kept = new Set<string | null>();
  const world = speedUp(inner, plan.begin, PACE, ({ transactionId }) => kept.has(transactionId));
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock: systemClock,
    host: "127.0.0.1",
    port: 0,
    pageSize: PAGE_SIZE,
    faults: plan.faults,
  });
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(plan.configFrom(systemClock.now())));
  const port = await ownPort();
  const environment = {
    DATABASE_URL: databaseUrl,
    PROVIDER_BASE_URL: sandbox.url,
    PROVIDER_USERNAME: CREDENTIALS.username,
    PROVIDER_PASSWORD: CREDENTIALS.password,
    RECON_CONFIG: config,
    OPS_PORT: "0",
    CALLBACK_PORT: String(port),
    CALLBACK_BASE_PATH: BASE_PATH,
    CALLBACK_SIGNATURE_KEY: KEY,
    LOG_LEVEL: "info",
  };
  const sql = openDatabase(databaseUrl, 4);
  const crews = {
    worker: startCrew(1, environment, WORKER),
    callbacks: startCrew(1, environment, CALLBACKS),
  };
  const stop = async () => {
    await Promise.all(Object.values(crews).map((crew) => crew.stop()));
  };
  return {
    sql,
    world,
    crews,
    stop,
    planted: inner.plantedBy(Number.POSITIVE_INFINITY),
    wallets: walletsOf(inner.entriesReceived({ from: 0, to: inner.quietAt() + 1 })),
    callbacks: { url: `http://127.0.0.1:${port}${BASE_PATH}`, key: KEY },
    keep: ({ transactionId }) => kept.add(transactionId),
    close: async () => {
      await stop();
      await sandbox.close();
      await sql.end({ timeout: 1 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
