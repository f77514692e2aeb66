/** Asks the caller to confirm a movement of money, unless `--yes` is given. */

import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { ReconError } from "../../../errors.ts";
import { EXIT_FAILED } from "../../run/run-command.ts";
import { showText } from "../../terminal/print.ts";

/**
 * @param action the action, such as "deposit 10.00 THB"
 * @returns whether the person has confirmed
 * @throws ReconError `usage` without a terminal
 */
export async function confirmAction(action: string, { yes }: { readonly yes?: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!stdin.isTTY) {
    throw new ReconError(
      "usage",
      `nothing was sent: there is no terminal to confirm in. To ${showText(action)}, add --yes.`,
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
