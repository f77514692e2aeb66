/** `recon worker`: every scheduled job and the ops server, until it is told to end. */

import type { Command } from "commander";
import { startWorker } from "../../jobs/worker.ts";
import { openChannels } from "../alerts/open-channels.ts";
import { migrateDatabase } from "../db/migrate.ts";
import { describeError } from "../errors.ts";
import { openAskOutcome } from "../flows/ask-outcome.ts";
import { startOpsServer } from "../ops/server.ts";
import { openBudget, type RequestBudget, withinBudget } from "../provider/budget.ts";
import { openProvider } from "../provider/client.ts";
import { announceMismatches, announceStart } from "./announce.ts";
import type { OpenRecon } from "./open.ts";
import { EXIT_FAILED, withRecon } from "./run-command.ts";
import { startTryOut, type TryOut } from "./try-out.ts";
import { untilTold } from "./until-told.ts";

/** What takes longer than this to end is abandoned; everything is committed page by page. */
const LONGEST_STOP_MS = 9_000;

export function addWorkerCommand(program: Command): void {
  program
    .command("worker")
    .description("the long-running worker: every scheduled job and the ops HTTP server")
    .action(withRecon(["database", "queue", "provider"], runWorker));
}

async function runWorker(recon: OpenRecon): Promise<void> {
  const { settings, context, databaseUrl } = recon;
  const told = untilTold();
  const opened: { close(): Promise<void> | void }[] = [];
  try {
    await migrateDatabase(databaseUrl);
    const tryOut = recon.embedded.provider
      ? await startTryOut(context.clock, context, { host: "127.0.0.1", port: 0, seed: null })
      : null;
    if (tryOut !== null) opened.push({ close: () => tryOut.stop() });

    const provider = openProvider(
      tryOut?.provider ?? settings.provider ?? { baseUrl: "", username: "", password: "" },
      {
        requestTimeoutMs: context.config.pull.requestTimeout,
        connections: context.config.pull.concurrency,
        production: settings.production,
      },
      context.clock,
    );
    opened.push(provider);
    const budget = budgetOf(recon);
    const worker = await startWorker(
      {
        ...context,
        fetchPage: withinBudget(provider.fetchBetPage, budget),
        ask: openAskOutcome(provider, budget, context),
        channels: openChannels(settings.alerts, settings.ops),
      },
      { redisUrl: settings.redisUrl, databaseUrl },
    );
    opened.push({ close: () => worker.stop() });
    const ops = await startOpsServer(context, settings.ops, () => worker.check());
    opened.push(ops);

    context.log.info({ ops: ops.url, products: context.config.products.length }, "the worker runs");
    if (tryOut !== null) {
      announceStart({ config: context.config, opsUrl: ops.url, ...describeWorld(recon, tryOut) });
      opened.push(announce(recon));
    }
    await told;
    context.log.info("the worker ends");
  } finally {
    await closeAll(recon, opened);
  }
}

function budgetOf({ context: { sql, config, clock } }: OpenRecon): RequestBudget {
  const { concurrency, minInterval, requestTimeout } = config.pull;
  return openBudget(sql, { concurrency, minIntervalMs: minInterval }, requestTimeout, clock);
}

function describeWorld({ settings, embedded }: OpenRecon, tryOut: TryOut) {
  return {
    database: embedded.postgres ? "an embedded PostgreSQL, its data in .recon/" : "the one of DATABASE_URL",
    queues:
      settings.redisUrl === null ? "in that database (set REDIS_URL for Redis)" : "the Redis of REDIS_URL",
    provider: `the sandbox at ${tryOut.provider.baseUrl}, seed ${tryOut.seed}, with players at play and planted faults`,
  };
}

function announce({ context }: OpenRecon): { close(): Promise<void> } {
  const ending = new AbortController();
  const announcing = announceMismatches(context.sql, context.clock, ending.signal).catch((error: unknown) =>
    context.log.warn({ error: describeError(error) }, "the mismatches cannot be shown here any more"),
  );
  return {
    close: async () => {
      ending.abort();
      await announcing;
    },
  };
}

/** Ends in the reverse order of the start; a hard end keeps the promise of ten seconds. */
async function closeAll(
  { context }: OpenRecon,
  opened: readonly { close(): Promise<void> | void }[],
): Promise<void> {
  const hard = setTimeout(() => {
    context.log.warn("the worker could not end in time and is cut off; every page written is complete");
    process.exit(EXIT_FAILED);
  }, LONGEST_STOP_MS);
  hard.unref();
  for (const one of [...opened].reverse()) {
    try {
      await one.close();
    } catch (error) {
      context.log.warn({ error: describeError(error) }, "a part of the worker did not end cleanly");
    }
  }
}
