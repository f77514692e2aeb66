/** Transfers as JSON lines on standard input. All lines are checked before the first one is stored. */

import { describeError, ReconError } from "../../errors.ts";
import type { GivenTransfer } from "../../flows/verify/hand-over-transfers.ts";
import { readTransfer } from "../../ops/input/hand-over.ts";

const MOST_LINES = 100_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_PROBLEMS_NAMED = 20;

/**
 * Reads transfers, one to a line; skips empty lines.
 * @throws ReconError `usage` with all wrong lines, or for an input that is too large
 */
export async function readTransferLines(
  input: AsyncIterable<Uint8Array | string>,
  known: Parameters<typeof readTransfer>[1],
): Promise<GivenTransfer[]> {
  const lines = numberLines(await readAll(input));
  if (lines.length === 0) throw new ReconError("usage", "there are no transfers on standard input");
  if (lines.length > MOST_LINES) throw tooLarge(`more than ${MOST_LINES} transfers`);
  const given: GivenTransfer[] = [];
  const problems: string[] = [];
  for (const [number, line] of lines) {
    const label = `line ${number}: `;
    try {
      given.push({ transfer: readTransfer(parseLine(line), known), label });
    } catch (error) {
      problems.push(`${label}${describeError(error)}`);
    }
  }
  if (problems.length > 0) throw problemsOf(problems);
  return given;
}

/** The lines that are not empty; reading stops soon after the limit. */
function numberLines(text: string): [number: number, line: string][] {
  const lines: [number, string][] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() !== "") lines.push([index + 1, line]);
    if (lines.length > MOST_LINES) break;
  }
  return lines;
}

async function readAll(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MOST_BYTES) throw tooLarge(`more than ${MOST_BYTES / 1024 / 1024} MiB`);
    chunks.push(part);
  }
  return decode(Buffer.concat(chunks));
}

/** In another encoding a name would silently become another name. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ReconError("usage", "standard input is not UTF-8: nothing was handed over");
  }
}

function parseLine(line: string): unknown {
  try {
    // Blanks, and the byte order mark of some editors.
    return JSON.parse(line.trim());
  } catch {
    throw new ReconError("usage", `not JSON: ${line.trim().slice(0, 60)}`);
  }
}

function problemsOf(problems: readonly string[]): ReconError {
  const named = problems.slice(0, MOST_PROBLEMS_NAMED).join("\n");
  const more = problems.length - MOST_PROBLEMS_NAMED;
  const rest = more > 0 ? `\nand ${more} more lines are wrong` : "";
  return new ReconError("usage", `${named}${rest}\nNothing was handed over.`);
}

function tooLarge(what: string): ReconError {
  return new ReconError("usage", `standard input holds ${what}: hand them over in several parts`);
}
