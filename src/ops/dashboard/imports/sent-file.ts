/** Reads a form with a file. A body that is too large is read to its end and dropped, so that the browser gets its answer. */

import type { IncomingMessage } from "node:http";
import { MOST_BYTES, SentLines } from "../../http/sent-lines.ts";

/** What a form has besides its file: names, and what separates the parts. */
const MOST_AROUND = 64 * 1024;
const LONGEST_NAME = 200;

/** A sent form. Its JSON is for the audit. */
export interface SentFile {
  /** as chosen; empty: nothing was */
  readonly format: string;
  /** of the file, cut off; empty: no file was chosen */
  readonly name: string;
  /** null: there is no file, or it cannot be used */
  readonly lines: SentLines | null;
  /** a sentence about the file; null: it can be used */
  readonly problem: string | null;
}

/** @param type the content type, which names what separates the parts of the form */
export async function readSentFile(payload: IncomingMessage, type: string): Promise<SentFile> {
  const body = await readAtMost(payload, MOST_BYTES + MOST_AROUND);
  if (body === null) return refused("", "", sayTooLarge());
  const form = await parseForm(body, type);
  if (form === null) return refused("", "", "the form cannot be read: choose the file, and send it again");
  const [format, file] = [form.get("format"), form.get("file")];
  const chosen = typeof format === "string" ? format : "";
  if (!(file instanceof File) || (file.size === 0 && file.name === "")) {
    return refused(chosen, "", "choose a file");
  }
  const name = file.name.slice(0, LONGEST_NAME);
  if (file.size > MOST_BYTES) return refused(chosen, name, sayTooLarge());
  const bytes = Buffer.from(await file.arrayBuffer());
  return { format: chosen, name, lines: new SentLines(bytes, null), problem: null };
}

function refused(format: string, name: string, problem: string): SentFile {
  return { format, name, lines: null, problem };
}

function sayTooLarge(): string {
  return `the file is larger than ${MOST_BYTES / 1024 / 1024} MB: split it, or use "recon ledger import". Nothing was taken`;
}

/** @returns null: there is more */
async function readAtMost(payload: IncomingMessage, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
  }
  return bytes > most ? null : Buffer.concat(chunks);
}

/** @returns null: it is no form */
async function parseForm(body: Buffer, type: string): Promise<FormData | null> {
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
