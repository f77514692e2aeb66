/** Opens the file that a command reads. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { stdin } from "node:process";
import { describeError, ReconError } from "../../errors.ts";
import { showText } from "../terminal/print.ts";

export interface Input {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** null: unknown before the end */
  readonly bytes: number | null;
}

/**
 * @param file its path; "-" is standard input
 * @throws ReconError `usage` that names the file if it cannot be read
 */
export async function openInput(file: string): Promise<Input> {
  if (file === "-") return { chunks: stdin, bytes: null };
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error("it is a folder");
    const stream = createReadStream(file);
    await new Promise((opened, failed) => stream.once("open", opened).once("error", failed));
    return { chunks: stream, bytes: found.size };
  } catch (error) {
    throw new ReconError("usage", `${showText(file)} cannot be read: ${describeError(error)}`);
  }
}
