/** Whether a container's command and environment are ones that the program takes. */

import { type Command, CommanderError } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { type Need, readSettings } from "../../src/config.ts";
import { describeError } from "../../src/errors.ts";
import { codesIn, rowsOf } from "../docs/pages.ts";

/** What each command that a container runs needs; src/cli/commands says the same. */
const NEEDS: Readonly<Record<string, readonly Need[]>> = {
  worker: ["database", "queue", "provider"],
  callbacks: ["database", "callers"],
  tap: ["database", "tap"],
  migrate: ["database"],
};

/** The variables that docs/settings.md names, which a test compares with the code. */
const VARIABLES = rowsOf("docs/settings.md", "variable").flatMap(([names = ""]) => codesIn(names));

/** @returns a sentence for each fault */
export async function faultsOf(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string[]> {
  const [name = ""] = args;
  const unknown = Object.keys(environment)
    .filter((variable) => !VARIABLES.includes(variable))
    .map((variable) => `${name}: docs/settings.md has no ${variable}`);
  try {
    const needs = NEEDS[name];
    if (needs === undefined) throw new Error(`no container runs ${name}`);
    await parseOnly(args);
    readSettings(needs, environment);
    return unknown;
  } catch (error) {
    return [...unknown, `${name}: ${describeError(error)}`];
  }
}

/** Parses the arguments as the program does, and runs nothing. */
async function parseOnly(args: readonly string[]): Promise<void> {
  const program = await createProgram(args[0]);
  const quiet = (command: Command): void => {
    command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {} });
    command.action(() => {});
    command.commands.forEach(quiet);
  };
  program.commands.forEach(quiet);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw new Error(error.message);
    throw error;
  }
}
