/** `recon worker`: runs every scheduled job and the ops server until a stop signal. */

import { stdout } from "node:process";
import { format } from "node:util";
import type { Command } from "commander";
import { LONGEST_STOP_MS } from "../../../jobs/close-queues.ts";
import { checkRedis } from "../../../jobs/redis.ts";
import { startWorker } from "../../../jobs/worker.ts";
import type { TransferApi } from "../../agent-api.ts";
import { openChannels } from "../../alerts/channels.ts";
import { type Clock, showDuration } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Sql } from "../../db/client.ts";
import { ensureIndexes, migrateDatabase } from "../../db/migrate.ts";
import { describeError } from "../../errors.ts";
import { openWorkerRequests } from "../../flows/verify/ask-outcome.ts";
import type { Log } from "../../log.ts";
import { MISMATCH_STATUSES } from "../../mismatch.ts";
import { listInOrder } from "../../mismatches/order-store.ts";
import { listMismatches } from "../../mismatches/store.ts";
import type { GuideStep } from "../../ops/dashboard/overview/guide.ts";
import { openMetrics } from "../../ops/metrics/metrics.ts";
import { startOpsServer } from "../../ops/server.ts";
import { startTracing, watchAll } from "../../ops/tracing/tracing.ts";
import { openProvider } from "../../provider/client.ts";
import {
  type Announce,
  isWatched,
  LONGEST_WAIT_MS,
  type OpenRecon,
  proveConnections,
  waitUntilReady,
} from "../run/open.ts";
import { type Part, runUntilStopped } from "../run/run-until-stopped.ts";
import { sendTryOutTransfers, type TryOut } from "../run/try-out.ts";
import { tryOutConfig } from "../run/try-out-config.ts";
import { printLine, showText } from "../terminal/print.ts";
import { showAtRisk } from "./mismatches/mismatches.ts";

/** The most new mismatches that are listed at once; further ones are only counted. */
const LISTED_AT_ONCE = 12;
/** The overview shows the whole guide. */
const GUIDED = 3;
const CHECK_EVERY_MS = 1_000;

function announceStart(facts: {
  readonly config: Config;
  readonly database: string;
  readonly queues: string;
  readonly provider: string;
  /** whether the products and graces are those of a start without settings */
  readonly isOwnConfig: boolean;
  readonly opsUrl: string;
  readonly guide: readonly GuideStep[];
}): void {
  const { diff } = facts.config;
  const graces = `callbacks ${showDuration(diff.callbackGrace)}, provider ${showDuration(diff.providerGrace)}`;
  printLine(
    facts.isOwnConfig
      ? "wallet-recon runs. PROVIDER_BASE_URL is not set, so a provider for trying out runs beside it:"
      : "wallet-recon runs. There are no settings, so this start uses a demo world:",
  );
  printLine(`  database   ${facts.database}`);
  printLine(`  queues     ${facts.queues}`);
  printLine(`  provider   ${facts.provider}`);
  printLine(
    `  graces     ${graces}${facts.isOwnConfig ? "" : ": short, so that you can watch; by default they are 15 min and 1 h"}`,
  );
  printLine(`  dashboard  ${facts.opsUrl}/ in a browser, or ${facts.opsUrl}/api/mismatches`);
  printLine();
  if (facts.isOwnConfig) return;
  printLine("Look around in a browser:");
  for (const { what, path } of facts.guide.slice(0, GUIDED)) printLine(`  ${facts.opsUrl}${path}  ${what}`);
  printLine();
  printLine(
    "The worker now fetches and compares the two days, which takes a minute or so. Ctrl-C ends everything; the next start continues.",
  );
  printLine();
}

/** What a terminal shows of a worker with settings of its own: its log is for programs. */
function announceOwn({ config }: OpenRecon["context"], opsUrl: string): void {
  printLine(
    `wallet-recon runs, for ${config.products.map(({ productId }) => showText(productId)).join(", ")}.`,
  );
  printLine(`  dashboard  ${opsUrl}/ in a browser, or ${opsUrl}/api/mismatches`);
  printLine(
    "  mismatches that are found from now on are listed here; earlier ones: recon mismatches list. Ctrl-C ends the worker.",
  );
  printLine();
}

/** @returns the id of the mismatch that was found last; null: there is none */
async function readNewest(sql: Sql): Promise<string | null> {
  const all = { statuses: MISMATCH_STATUSES, kind: null, productId: null, username: null };
  const newestFirst = { by: "firstSeenAt", descending: true } as const;
  const { mismatches } = await listInOrder(sql, all, newestFirst, { limit: 1, from: null });
  return mismatches[0]?.id ?? null;
}

/** Prints each mismatch once, until the signal aborts. @param known the id of the last one that is not printed */
async function announceMismatches(
  sql: Sql,
  clock: Clock,
  signal: AbortSignal,
  known: string | null,
): Promise<void> {
  let after = known;
  let hintShown = false;
  while (!signal.aborted) {
    const filter = { statuses: [], kind: null, productId: null, username: null, limit: 1000, after };
    const { mismatches } = await listMismatches(sql, filter);
    for (const one of mismatches.slice(0, LISTED_AT_ONCE)) {
      const what = `${one.kind.padEnd(19)}  ${one.productId.padEnd(6)}  ${showAtRisk(one).padStart(16)} at risk`;
      printLine(`#${one.id.padEnd(4)} ${what}  ${showText(one.username)}: ${showText(one.reason)}`);
    }
    if (mismatches.length > LISTED_AT_ONCE) printLine(`… and ${mismatches.length - LISTED_AT_ONCE} more`);
    after = mismatches.at(-1)?.id ?? after;
    if (!hintShown && mismatches.length > 0) {
      hintShown = true;
      printLine();
      printLine(
        `To see them in another terminal: npx recon mismatches list, npx recon mismatches show ${mismatches[0]?.id}`,
      );
      printLine();
    }
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
}

export function addWorkerCommand(program: Command): void {
  program
    .command("worker")
    .description("the long-running worker: every scheduled job and the ops HTTP server")
    .action(
      runUntilStopped(
        "the worker",
        ["database", "queue", "provider", "ops", "alerts"],
        openWorker,
        announceSteps,
      ),
    );
}

/** The first start without a provider takes a quarter of a minute. With one, the log says what happens. */
const announceSteps: Announce = ({ provider, production }) => {
  if (provider !== null || production) return () => undefined;
  printLine("There is no provider in the settings, so this start brings one of its own for trying out.");
  return (step) => printLine(`  … ${step}`);
};

/** BullMQ and ioredis print some warnings by themselves: each becomes a line of the log, without a stack trace. */
function logConsole(log: Log): void {
  for (const name of ["log", "info", "warn", "error"] as const) {
    console[name] = (...parts: unknown[]) => {
      const said = parts.map((part) => (part instanceof Error ? describeError(part) : part));
      log.warn({ from: "a library" }, format(...said).split("\n    at ")[0]);
    };
  }
}

async function openWorker(given: OpenRecon, opened: Part[]): Promise<void> {
  const { settings, databaseUrl } = given;
  const { redisUrl, redisPrefix } = settings;
  const metrics = openMetrics({ ...given.people, databaseClock: given.context.clock }, () =>
    worker.countJobs(),
  );
  const tracing = await startTracing(settings.tracing, given.context.log);
  if (tracing !== null) opened.push({ name: "tracing", longestMs: 500, close: () => tracing.close() });
  await migrateDatabase(databaseUrl, given.context.log);
  await ensureIndexes(databaseUrl, given.context.config.ledger.balances === "complete");
  const installationId = await proveConnections(given);
  if (redisUrl !== null) {
    const place = { redisUrl, prefix: redisPrefix, installationId };
    await waitUntilReady("Redis", () => checkRedis(place), given.context, LONGEST_WAIT_MS);
  }
  logConsole(given.context.log);
  if (given.embedded.provider)
    printLine("  … playing two days at the sandbox, whose callbacks fill the ledger");
  const tryOut = given.embedded.provider ? await startSandbox(given) : null;
  if (tryOut !== null) opened.push({ name: "the sandbox", longestMs: 500, close: () => tryOut.stop() });

  const recon = tryOut === null ? given : withBegin(given, tryOut);
  const { context, people } = recon;

  const provider = openProvider(
    tryOut?.provider ?? settings.provider ?? { baseUrl: "", username: "", password: "" },
    {
      requestTimeoutMs: context.config.pull.requestTimeout,
      connections: context.config.pull.concurrency,
      production: settings.production,
      watch: tracing === null ? metrics.watch : watchAll([tracing.watch, metrics.watch]),
    },
    context.clock,
  );
  opened.push({ name: "the provider client", longestMs: 100, close: () => provider.close() });
  const channels = openChannels(settings.alerts, settings.ops);
  const worker = await startWorker(
    {
      ...context,
      ...openWorkerRequests(context, provider),
      onPage: metrics.onPage,
      channels,
      diskBytes: settings.databaseDisk,
      heartbeat: settings.heartbeatUrl === null ? null : { url: settings.heartbeatUrl },
      isTraced: tracing !== null,
      databaseClock: context.clock,
    },
    { redisUrl, redisPrefix, databaseUrl },
  );
  opened.push({ name: "the work at hand", longestMs: LONGEST_STOP_MS + 200, close: () => worker.stop() });
  const ops = await startOpsServer(people, settings.ops, () => worker.check(), {
    openBoard: () => worker.openBoard(),
    metrics,
    worker: {
      channels,
      hasHeartbeat: settings.heartbeatUrl !== null,
      queuesIn: redisUrl === null ? "PostgreSQL" : "Redis",
      countJobs: () => worker.countJobs(),
    },
    ...(tryOut === null || settings.config !== null ? {} : { guide: tryOut.guide }),
  });
  opened.push({ name: "the ops server", longestMs: 500, close: () => ops.close() });

  context.log.info({ ops: ops.url, products: context.config.products.length }, "the worker runs");
  if (tryOut !== null && settings.config === null)
    opened.push({ name: "the deposits", longestMs: 300, ...deposit(recon, provider) });
  if (tryOut !== null) {
    announceStart({
      config: context.config,
      opsUrl: ops.url,
      isOwnConfig: settings.config !== null,
      guide: tryOut.guide,
      ...describeWorld(recon, tryOut),
    });
    opened.push({ name: "the list of mismatches", longestMs: 300, ...announce(recon, null) });
  } else if (isWatched(settings, stdout)) {
    const known = await readNewest(context.sql);
    announceOwn(context, ops.url);
    opened.push({ name: "the list of mismatches", longestMs: 300, ...announce(recon, known) });
  }
}

/** Loaded only here, because a worker in production does not need the sandbox. */
async function startSandbox({ context }: OpenRecon): Promise<TryOut> {
  const { startTryOut } = await import("../run/try-out.ts");
  return await startTryOut(context.clock, context, { host: "127.0.0.1", port: 0, seed: null });
}

/** If the products are not in the settings, the world's whole past is pulled. */
function withBegin(recon: OpenRecon, { begin }: TryOut): OpenRecon {
  if (recon.settings.config !== null) return recon;
  const config = tryOutConfig(begin);
  return { ...recon, context: { ...recon.context, config }, people: { ...recon.people, config } };
}

/** In the background: a deposit without an answer takes as long as a request may. */
function deposit({ context }: OpenRecon, provider: TransferApi): { close(): Promise<void> } {
  const ending = new AbortController();
  const sending = sendTryOutTransfers(context, provider, ending.signal).catch((error: unknown) =>
    context.log.warn({ error: describeError(error) }, "the try-out could not send its deposits"),
  );
  return {
    close: async () => {
      ending.abort();
      await sending;
    },
  };
}

function describeWorld({ settings, embedded }: OpenRecon, tryOut: TryOut) {
  return {
    database: embedded.postgres ? "an embedded PostgreSQL, its data in .recon/" : "the one of DATABASE_URL",
    queues:
      settings.redisUrl === null ? "in that database (set REDIS_URL for Redis)" : "the Redis of REDIS_URL",
    provider: `the sandbox at ${tryOut.provider.baseUrl}, seed ${tryOut.seed}, with players at play, two days of history and planted faults`,
  };
}

function announce({ context }: OpenRecon, known: string | null): { close(): Promise<void> } {
  const ending = new AbortController();
  const announcing = announceMismatches(context.sql, context.clock, ending.signal, known).catch(
    (error: unknown) =>
      context.log.warn({ error: describeError(error) }, "this terminal cannot show mismatches any more"),
  );
  return {
    close: async () => {
      ending.abort();
      await announcing;
    },
  };
}
