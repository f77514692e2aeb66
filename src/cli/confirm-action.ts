/** What moves money is confirmed by a person first, or by `--yes`. */

import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { ReconError } from "../errors.ts";
import { showText } from "./print.ts";
import { EXIT_FAILED } from "./run-command.ts";

/**
 * @param action what would be done, such as "deposit 10.00 THB"
 * @returns whether it is to be done
 * @throws ReconError `usage` where nobody can be asked
 */
export async function confirmAction(action: string, { yes }: { readonly yes?: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!stdin.isTTY) {
    throw new ReconError(
      "usage",
      `nothing was sent: there is no terminal to ask at. Add --yes to ${showText(action)}.`,
    );
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await terminal.question(`${showText(action)}? [y/N] `);
    if (/^y(es)?$/i.test(answer.trim())) return true;
  } finally {
    terminal.close();
  }
  stderr.write("recon: nothing was sent\n");
  process.exitCode = EXIT_FAILED;
  return false;
}
