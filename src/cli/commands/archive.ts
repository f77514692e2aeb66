/** `recon archive verify`: checks sealed files without a database. */

import process from "node:process";
import type { Command } from "commander";
import { ReconError } from "../../errors.ts";
import { type ArchiveCheck, sayFlaw, verifyArchive } from "../../flows/archive/verify-archive.ts";
import { usage } from "../../ops/input/fields.ts";
import { EXIT_FAILED } from "../run/run-command.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";

export function addArchiveCommand(program: Command): void {
  const archive = program.command("archive").description("the sealed files of closed days (closing.archive)");
  archive
    .command("verify")
    .argument("<folder>", "the folder that closing.archive names, or a copy of it")
    .description(
      "check every file and the chain of all days, without a database; exit code 1 if anything is wrong",
    )
    .option("--json", "one JSON document")
    .action(async (folder: string, { json }: { readonly json?: boolean }) => {
      const check = await verify(folder);
      if (json) printJson({ folder, ...check });
      else for (const line of describe(folder, check)) printLine(showText(line));
      if (check.flaws.length > 0) process.exitCode = EXIT_FAILED;
    });
}

async function verify(folder: string): Promise<ArchiveCheck> {
  const check = await verifyArchive(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    if (error.code === "ENOENT") throw usage(`there is no folder "${folder}"`);
    throw usage(`the archive "${folder}" cannot be read: ${error.message}`);
  });
  if (check.days === 0 && check.flaws.length === 0)
    throw new ReconError("not-found", `"${folder}" holds no closed day`);
  return check;
}

function describe(folder: string, { days, files, lines, flaws, first, last }: ArchiveCheck): string[] {
  const sums = `${count(days, "day")}, ${count(files, "file")}, ${count(lines, "line")}`;
  const begin =
    first === null || first.number === 1
      ? []
      : [
          `The first day, ${first.day}, has number ${first.number}: days with a smaller number are not in this folder.`,
        ];
  const end =
    last === null
      ? begin
      : [
          ...begin,
          `The last day, ${last.day}, has number ${last.number} and the hash ${last.hash}: compare it with the one that you wrote down.`,
        ];
  if (flaws.length === 0)
    return [
      `Every file in ${folder} is as it was sealed, and its lines add up to its statement: ${sums}.`,
      ...end,
    ];
  return [...flaws.map((flaw) => `${sayFlaw(flaw)}.`), `${count(flaws.length, "flaw")} in ${sums}.`, ...end];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
