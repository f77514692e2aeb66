/** The charset of an answer, by its Content-Type. */

import { ReconError } from "../errors.ts";

export interface Transcoder {
  /** @returns UTF-8; bytes that are not of the charset become `NO_TEXT` */
  take(chunk: Buffer): Buffer;
  /** the rest, if the answer ended within a letter */
  end(): Buffer;
}

/** Never part of UTF-8, so that whatever holds it is refused. A replacement character would make one name of two. */
const NO_TEXT = Buffer.from([0xff]);
const REPLACEMENT = "\ufffd";

/**
 * Shift_JIS and GBK have a backslash among the bytes of their letters, so an answer is decoded before it is cut into records.
 * @returns null: the answer is in UTF-8, or does not say its charset
 * @throws ReconError `provider-not-json` if the charset is unknown
 */
export function openTranscoder(contentType: string | undefined, what: string): Transcoder | null {
  const [, label] = /;\s*charset\s*=\s*"?([^\s;",]+)/i.exec(contentType ?? "") ?? [];
  if (label === undefined) return null;
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(label);
  } catch {
    const problem = `${what}: the answer's charset "${label.slice(0, 40)}" is unknown`;
    throw new ReconError("provider-not-json", problem, { retryable: true });
  }
  if (decoder.encoding === "utf-8") return null;
  const encode = (text: string): Buffer => {
    if (!text.includes(REPLACEMENT)) return Buffer.from(text);
    return Buffer.concat(
      text
        .split(REPLACEMENT)
        .flatMap((part, index) => (index === 0 ? [] : [NO_TEXT]).concat(Buffer.from(part))),
    );
  };
  return {
    take: (chunk) => encode(decoder.decode(chunk, { stream: true })),
    end: () => encode(decoder.decode()),
  };
}
