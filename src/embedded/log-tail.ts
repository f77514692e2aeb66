/** Error messages quote the end of a log, because that is where the reason stands. */
import { readFile } from "node:fs/promises";

/** The last lines of a log file, from byte `offset` on; an empty text when it cannot be read. */
export async function lastLines(file: string, offset = 0): Promise<string> {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  return text.subarray(offset).toString("utf8").trimEnd().split("\n").slice(-12).join("\n");
}
