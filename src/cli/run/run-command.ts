/** Runs a command: opens and closes its resources, and turns an error into one clear line and an exit code. */

import { stderr } from "node:process";
import type { Need } from "../../config.ts";
import { describeLimit, isConnectionLost, unreachable } from "../../db/database-error.ts";
import { describeNewer, readSchemaVersion, requireSchema } from "../../db/migrate.ts";
import { ReconError } from "../../errors.ts";
import { paint, printFailure } from "../terminal/print.ts";
import { type OpenRecon, openRecon } from "./open.ts";

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

/**
 * Runs a command that needs the database, and closes everything afterwards.
 * @param checkSchema throws if the command cannot work with the database's migrations
 */
export function withRecon<Args extends unknown[]>(
  needs: readonly Need[],
  run: (recon: OpenRecon, ...args: Args) => Promise<void>,
  checkSchema = requireSchema,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    const recon = await openRecon(needs);
    try {
      const schema = await readSchemaVersion(recon.context.sql);
      checkSchema(schema);
      const newer = describeNewer(schema);
      if (newer !== null) stderr.write(`recon: ${newer}\n`);
      await run(recon, ...args);
    } catch (error) {
      const { sql } = recon.context;
      throw isConnectionLost(error) ? unreachable(sql.options, error) : (describeLimit(sql, error) ?? error);
    } finally {
      await recon.close();
    }
  };
}

/**
 * Refusals of the server that are no fault of this program: rights, a read-only server, no space, a limit.
 */
const REFUSAL = /^(25006|42501|5[3-8]...)$/;

/** Prints a failure in words that a tired person can act on, and with `--json` as a document. @returns the exit code */
export function reportFailure(error: unknown): number {
  const say = (text: string) => stderr.write(`${paint("red", "recon:", stderr)} ${text}\n`);
  if (error instanceof ReconError) {
    const { code, message, fields } = error;
    say(message);
    printFailure({ code, message, fields });
    return code === "usage" ? EXIT_USAGE : EXIT_FAILED;
  }
  const { code, message, stack } = error as { code?: string; message?: string; stack?: string };
  if (REFUSAL.test(code ?? "")) {
    const refusal = `the database refuses: ${message} (${code})`;
    say(refusal);
    printFailure({ code: "database-refuses", message: refusal, fields: [] });
  } else {
    say(`internal error, please report it: ${stack ?? String(error)}`);
    printFailure({ code: "internal-error", message: message ?? String(error), fields: [] });
  }
  return EXIT_FAILED;
}
