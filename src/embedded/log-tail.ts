/** Reads the end of a log for error messages, because the end contains the reason. */
import { readFile } from "node:fs/promises";

/** The last lines of a log file after byte `offset`; empty where the file is unreadable. */
export async function lastLines(file: string, offset = 0): Promise<string> {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  return text.subarray(offset).toString("utf8").trimEnd().split("\n").slice(-12).join("\n");
}
