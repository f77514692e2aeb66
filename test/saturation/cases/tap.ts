import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { openDatabase } from "../../../src/db/client.ts";
import { migrateDatabase } from "../../../src/db/migrate.ts";
import { startOwnPostgres } from "../../simulation/own-postgres.ts";
import { startRecon } from "../../simulation/recon-process.ts";
import { eventually } from "../../support/eventually.ts";
import { ownPort } from "../../support/own-port.ts";
import { placeBet, startWalletTarget } from "../../tap/wallet-target.ts";
import { forInformation, none, type SaturationCase } from "../case.ts";

const MINUTES = 10;
const PER_SECOND = 300;
const TICK_MS = 10;
const CONNECTIONS = 64;
const AGAIN_AFTER_MS = 250;
const MOST_TRIES = 400;

export const saturation: SaturationCase = {
  name: "tap",
  what: `${PER_SECOND} callbacks a second through the tap, for ${MINUTES} minutes or --minutes, while PostgreSQL restarts twice and the tap is killed twice`,
  run: async (report, { minutes = MINUTES }) => {
    const server = await startOwnPostgres();
    const folder = mkdtempSync(join(tmpdir(), "recon-tap-"));
    const target = await startWalletTarget();
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const databaseUrl = new URL("/tapped", server.url).href;
    const admin = postgres(server.url, { max: 1, onnotice: () => {} });
    await admin`create database tapped`;
    await admin.end();
    await migrateDatabase(databaseUrl);
    const sql = openDatabase(databaseUrl, 2);
    const port = await ownPort();
    const begin = async () => {
      const settings = {
        DATABASE_URL: databaseUrl,
        CALLBACK_PORT: String(port),
        OPS_PORT: "0",
        LOG_LEVEL: "warn",
      };
      const recon = startRecon(
        ["tap", "--target", target.url, "--journal", folder],
        settings,
        "callbacks pass from",
      );
      if (!(await recon.ready)) throw new Error(`recon tap did not start: ${recon.lastLines()}`);
      return recon;
    };
    let tap = await begin();
    const killTap = async () => {
      tap.kill("SIGKILL");
      await tap.ended;
      tap = await begin();
    };
    try {
      const [answered, never, tookMs] = [new Set<string>(), [] as string[], [] as number[]];
      let unanswered = 0;
      const send = async (id: string) => {
        for (let tries = 0; tries < MOST_TRIES; tries += 1) {
          const sentAt = performance.now();
          if (await placeBet(port, id, agent)) {
            tookMs.push(performance.now() - sentAt);
            answered.add(id);
            return;
          }
          unanswered += 1;
          await pause(AGAIN_AFTER_MS);
        }
        never.push(id);
      };
      const lengthMs = minutes * 60_000;
      const troubles = [() => server.restart("fast"), killTap, () => server.restart("crash"), killTap];
      const under: Promise<unknown>[] = [];
      const begunAt = performance.now();
      let sent = 0;
      for (let passedMs = 0; passedMs < lengthMs; passedMs = performance.now() - begunAt) {
        for (; sent < (passedMs / 1000) * PER_SECOND; sent += 1) under.push(send(`sent-${sent}`));
        const dueTroubles = Math.floor((passedMs / lengthMs) * (4 + 1));
        if (4 - troubles.length < dueTroubles) under.push(troubles.shift()?.() ?? Promise.resolve());
        await pause(TICK_MS);
      }
      await Promise.all(under);
      const rows = () => sql<{ id: string; count: number }[]>`
        select request_id as id, count(*) as count from callback_entries group by request_id`;
      const missing = async () => {
        const stored = new Set((await rows()).map(({ id }) => id));
        return [...answered].filter((id) => !stored.has(id)).length;
      };
      await eventually("all of them are entries", async () => (await missing()) === 0).catch(() => {});
      const stored = await rows();
      const taken = new Set(target.taken);
      tookMs.sort((a, b) => a - b);
      report(
        forInformation("callbacks that were answered", answered.size),
        forInformation("answers that were cut off, and asked for again", unanswered),
        forInformation(
          "median ms of an answer",
          Math.round((tookMs[Math.floor(tookMs.length / 2)] ?? 0) * 10) / 10,
        ),
        none("never answered", never.length),
        none("answered, and no entry", await missing()),
        none("entries twice", stored.filter(({ count }) => count !== 1).length),
        none("entries of nothing that was sent", stored.filter(({ id }) => !taken.has(id)).length),
      );
    } finally {
      tap.kill("SIGKILL");
      await tap.ended;
      agent.destroy();
      await sql.end({ timeout: 1 });
      await target.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
