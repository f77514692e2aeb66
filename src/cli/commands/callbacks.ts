/** `recon callbacks`: serves the operator's callbacks with the built-in wallet until a stop signal. */

import { setInterval } from "node:timers";
import type { Command } from "commander";
import { startCallbackServer } from "../../callbacks/server.ts";
import { migrateDatabase } from "../../db/migrate.ts";
import { MEASURE_EVERY_MS, openClockWatch } from "../../flows/alerts/watch-installation.ts";
import type { OpenRecon } from "../run/open.ts";
import { proveConnections } from "../run/open.ts";
import { type Part, runUntilStopped } from "../run/run-until-stopped.ts";
import { printLine } from "../terminal/print.ts";

/**
 * The longest wait for open requests at the end. A longer request is cut off: its transaction rolls back, or a
 * repetition gets its answer.
 */
const LONGEST_STOP_MS = 5_000;

export function addCallbacksCommand(program: Command): void {
  program
    .command("callbacks")
    .description("serve the operator's callback endpoints with a built-in wallet, and write the ledger")
    .action(runUntilStopped("recon callbacks", ["database", "callers"], startCallbacks));
}

async function startCallbacks(recon: OpenRecon, opened: Part[]): Promise<void> {
  const { settings, context, databaseUrl } = recon;
  await migrateDatabase(databaseUrl, context.log);
  await proveConnections(recon);
  const watch = openClockWatch(context, context.clock, {
    name: "callbacks server",
    consequence: "callbacks still use the database's time",
  });
  await watch();
  const timer = setInterval(watch, MEASURE_EVERY_MS);
  opened.push({ name: "the clock watch", longestMs: 100, close: async () => clearInterval(timer) });
  const server = await startCallbackServer(context, settings.callbacks);
  opened.push({ name: "the callbacks server", longestMs: LONGEST_STOP_MS, close: () => server.close() });
  const { basePath, signatureKey, allowedIps } = settings.callbacks;
  const from = allowedIps.length === 0 ? "from anywhere" : `from ${allowedIps.join(", ")}`;
  printLine(`callbacks are answered at ${server.url}${basePath}/<callback>, for the products`);
  printLine(`  ${context.config.products.map(({ productId }) => productId).join(", ")}`);
  printLine(`  ${from}, ${signatureKey === null ? "signed or not" : "signed with CALLBACK_SIGNATURE_KEY"}`);
  printLine('"recon wallet credit" makes a player. Ctrl-C ends this server.');
  context.log.info({ callbacks: server.url }, "the callbacks are served");
}
