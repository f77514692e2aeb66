/** `recon evidence`: one file for a dispute with the provider. */

import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { ReconError } from "../../errors.ts";
import { type EvidenceTarget, readEvidence } from "../../flows/read/read-evidence.ts";
import { writeEvidence } from "../../ops/evidence/evidence-file.ts";
import { EVIDENCE_FORMATS, type EvidenceFormat } from "../../ops/input/evidence-query.ts";
import { usage } from "../../ops/input/fields.ts";
import { withRecon } from "../run/run-command.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";

interface EvidenceOptions {
  readonly incident?: string;
  readonly part?: string;
  readonly out: string;
  readonly json?: boolean;
}

export function addEvidenceCommand(program: Command): void {
  program
    .command("evidence")
    .argument("[ids...]", "the ids of mismatches in the list; without ids, use --incident")
    .description(
      "write one file for a dispute with the provider: both sides, callbacks and record versions as they came",
    )
    .option("--incident <id>", "all mismatches of this incident")
    .option("--part <number>", "which 500 of its mismatches, from 1, if it has more than 500")
    .requiredOption("--out <file>", "a new file that ends with .html, .json or .csv")
    .option("--json", "say what was written as one JSON document")
    .action((ids: string[], options: EvidenceOptions) => {
      const format = formatOf(options.out);
      const target = targetOf(ids, options);
      return write(format, target, options);
    });
}

const write = withRecon(
  ["database"],
  async ({ context }, format: EvidenceFormat, target: EvidenceTarget, { out, json }: EvidenceOptions) => {
    const evidence = await readEvidence(context, target);
    const text = writeEvidence(evidence, format);
    await writeNew(out, text);
    const count = evidence.mismatches.length;
    const bytes = Buffer.byteLength(text);
    if (json) printJson({ file: out, format, mismatches: count, bytes });
    else
      printLine(
        showText(`Wrote the evidence of ${count} ${count === 1 ? "mismatch" : "mismatches"} to ${out}.`),
      );
  },
);

function formatOf(file: string): EvidenceFormat {
  const format = EVIDENCE_FORMATS.find((one) => file.toLowerCase().endsWith(`.${one}`));
  if (format !== undefined) return format;
  throw usage(`--out must end with .html, .json or .csv, but is "${file}"`);
}

function targetOf(ids: readonly string[], { incident, part }: EvidenceOptions): EvidenceTarget {
  if (part !== undefined && incident === undefined) throw usage("--part needs --incident");
  if (part !== undefined && !/^[1-9]\d{0,5}$/.test(part))
    throw usage(`--part "${part}" is not a whole number from 1 up`);
  if (ids.length > 0 && incident === undefined) return { ids };
  if (ids.length === 0 && incident !== undefined)
    return { incident, part: part === undefined ? null : Number(part) };
  throw usage(ids.length > 0 ? "give either ids or --incident, not both" : "give ids, or --incident");
}

/** Evidence that was sent must not change, so a file that exists stays as it is. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new ReconError("conflict", `"${file}" exists already: choose another name`);
    throw usage(`"${file}" cannot be written: ${(error as Error).message}`);
  }
}
