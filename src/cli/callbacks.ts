/** `recon callbacks`: serves the operator's callbacks with the built-in wallet, until it is told to end. */

import type { Command } from "commander";
import { type CallbackServer, startCallbackServer } from "../callbacks/server.ts";
import { migrateDatabase } from "../db/migrate.ts";
import type { OpenRecon } from "./open.ts";
import { printLine } from "./print.ts";
import { EXIT_FAILED, withRecon } from "./run-command.ts";
import { untilTold } from "./until-told.ts";

/** What takes longer than this to end is abandoned: its transaction is undone, and the provider asks again. */
const LONGEST_STOP_MS = 9_000;

export function addCallbacksCommand(program: Command): void {
  program
    .command("callbacks")
    .description("serves the operator's callback endpoints with a built-in wallet and writes the ledger")
    .action(withRecon(["database", "callers"], runCallbacks));
}

async function runCallbacks({ settings, context, databaseUrl }: OpenRecon): Promise<void> {
  const told = untilTold();
  await migrateDatabase(databaseUrl);
  const server = await startCallbackServer(context, settings.callbacks);
  const { signatureKey, allowedIps } = settings.callbacks;
  const from = allowedIps.length === 0 ? "from anywhere" : `from ${allowedIps.join(", ")}`;
  printLine(`callbacks are answered at ${server.url}/<callback>, for the products`);
  printLine(`  ${context.config.products.map(({ productId }) => productId).join(", ")}`);
  printLine(`  ${from}, ${signatureKey === null ? "signed or not" : "signed with CALLBACK_SIGNATURE_KEY"}`);
  printLine('Players are made by "recon wallet credit". Ctrl-C ends it.');
  context.log.info({ callbacks: server.url }, "the callbacks are served");
  await told;
  context.log.info("the callbacks end");
  await closeInTime(context.log, server);
}

async function closeInTime(log: OpenRecon["context"]["log"], server: CallbackServer): Promise<void> {
  const hard = setTimeout(() => {
    log.warn("the callbacks could not end in time and are cut off; nothing is half done");
    process.exit(EXIT_FAILED);
  }, LONGEST_STOP_MS);
  hard.unref();
  await server.close();
}
