/** Reads a form that holds a file. */

import type { IncomingMessage } from "node:http";

/** What a form has besides its file: names, and what separates the parts. */
const MOST_AROUND = 64 * 1024;

/**
 * @param type the content type, which names what separates the parts of the form
 * @param mostBytes of the file
 */
export async function readForm(
  payload: IncomingMessage,
  type: string,
  mostBytes: number,
): Promise<FormData | "too-large" | "unreadable"> {
  const body = await readAtMost(payload, mostBytes + MOST_AROUND);
  if (body === null) return "too-large";
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  } catch (error) {
    if (error instanceof TypeError) return "unreadable";
    throw error;
  }
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
