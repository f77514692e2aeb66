/** The progress of an import: on a terminal in one line that changes, elsewhere in plain lines from time to time. */

import type { WriteStream } from "node:tty";
import { type Clock, showDuration } from "../../clock.ts";

const REWRITE_EVERY_MS = 250;
const PLAIN_LINE_EVERY_MS = 5_000;
const ERASE_REST = "\u001b[K";

export interface ImportProgress {
  /** passes chunks on, and counts their bytes */
  counting(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** @param line the last line that was taken */
  show(line: number): void;
  end(): void;
}

/** @param bytes of the whole file; null: not known */
export function showImportProgress(out: WriteStream, clock: Clock, bytes: number | null): ImportProgress {
  const beganAt = clock.now();
  const everyMs = out.isTTY ? REWRITE_EVERY_MS : PLAIN_LINE_EVERY_MS;
  let nextAt = beganAt + everyMs;
  let readBytes = 0;
  let isShown = false;
  return {
    async *counting(chunks) {
      for await (const chunk of chunks) {
        readBytes += chunk.length;
        yield chunk;
      }
    },
    show: (line) => {
      const now = clock.now();
      if (now < nextAt) return;
      nextAt = now + everyMs;
      const text = describe(line, now - beganAt, bytes === null || bytes === 0 ? null : readBytes / bytes);
      isShown = out.isTTY;
      out.write(out.isTTY ? `\r${text.slice(0, (out.columns || 80) - 1)}${ERASE_REST}` : `${text}\n`);
    },
    end: () => {
      if (isShown) out.write(`\r${ERASE_REST}`);
    },
  };
}

/** "350000 lines (35 %), 21000 lines/s, about 31 s left" @param share of the file that was read; null: not known */
function describe(line: number, elapsedMs: number, share: number | null): string {
  const pace = `${Math.round((line * 1000) / Math.max(elapsedMs, 1))} lines/s`;
  if (share === null) return `${line} lines, ${pace}`;
  const left = showDuration((elapsedMs / share) * (1 - share));
  return `${line} lines (${Math.floor(share * 100)} %), ${pace}, about ${left} left`;
}
