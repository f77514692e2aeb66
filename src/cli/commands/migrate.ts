/** `recon migrate`: brings the database up to date. */

import { stderr } from "node:process";
import type { Command } from "commander";
import { ensureIndexes, migrateDatabase } from "../../db/migrate.ts";
import { findForeignCreators } from "../../db/schema-rights-store.ts";
import type { OpenRecon } from "../run/open.ts";
import { withRecon } from "../run/run-command.ts";
import { printLine } from "../terminal/print.ts";

export function addMigrateCommand(program: Command): void {
  program
    .command("migrate")
    .description("bring the database up to date")
    .action(withRecon(["database"], migrate, () => {}));
}

async function migrate({ databaseUrl, context }: OpenRecon): Promise<void> {
  const count = await migrateDatabase(databaseUrl);
  await ensureIndexes(databaseUrl, context.config.ledger.balances === "complete");
  printLine(
    count === 0 ? "The database is up to date." : `${count} migration${count === 1 ? "" : "s"} done.`,
  );
  const creators = await findForeignCreators(context.sql);
  if (creators !== null) stderr.write(`recon: warning: ${creators.found}: ${creators.mend}\n`);
}
