/** Cuts the bytes of an import into numbered lines. The memory it needs is bounded, however long a line is. */

/** In bytes; far longer than any callback. */
const LONGEST_LINE = 1024 * 1024;
const NEWLINE = 0x0a;
/** Of a line that cannot be read, in characters. */
const MOST_SHOWN = 2_000;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

export interface CutLine {
  /** counted from 1 */
  readonly line: number;
  /** of a line that cannot be read, only its beginning */
  readonly text: string;
  /** why it cannot be read; null: it can */
  readonly fault: string | null;
}

/** @returns for each chunk the lines that end in it; empty lines are left out, and counted */
export async function* cutLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly CutLine[]> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let line = 1;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = bytes.lastIndexOf(NEWLINE);
    if (end >= 0) {
      const lines = splitLines(Buffer.concat([...begun, bytes.subarray(0, end)]), line);
      yield lines.filter(isWritten);
      line += lines.length;
      [begun, begunBytes] = [[], 0];
    }
    const rest = bytes.subarray(end + 1);
    if (begunBytes <= LONGEST_LINE) begun.push(rest);
    begunBytes += rest.length;
  }
  yield splitLines(Buffer.concat(begun), line).filter(isWritten);
}

function splitLines(block: Buffer, first: number): CutLine[] {
  const text = decode(block);
  if (text !== null) return text.split("\n").map((one, index) => toLine(one, first + index));
  const lines: CutLine[] = [];
  for (let from = 0; from <= block.length; ) {
    const next = block.indexOf(NEWLINE, from);
    const end = next < 0 ? block.length : next;
    lines.push(decodeLine(block.subarray(from, end), first + lines.length));
    from = end + 1;
  }
  return lines;
}

/** @returns null where it is not UTF-8: in another encoding a name would silently become another name */
function decode(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function decodeLine(bytes: Buffer, line: number): CutLine {
  const text = decode(bytes);
  if (text !== null) return toLine(text, line);
  const shown = bytes.subarray(0, MOST_SHOWN).toString("utf8");
  return { line, text: shown, fault: "the line is not UTF-8" };
}

function toLine(text: string, line: number): CutLine {
  if (text.length <= LONGEST_LINE)
    return { line, text: text.endsWith("\r") ? text.slice(0, -1) : text, fault: null };
  return {
    line,
    text: text.slice(0, MOST_SHOWN),
    fault: `the line is longer than ${LONGEST_LINE} characters`,
  };
}

function isWritten({ text }: CutLine): boolean {
  return /\S/.test(text);
}
