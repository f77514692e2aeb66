/** The numbered files of the journal. Each has JSON lines, which an import can read too. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const NAME = /^(\d{12})\.ndjson$/;

export interface Segment {
  readonly number: number;
  readonly path: string;
}

export function segmentOf(folder: string, number: number): Segment {
  return { number, path: join(folder, `${String(number).padStart(12, "0")}.ndjson`) };
}

/** The files that are there, the oldest first. */
export async function listSegments(folder: string): Promise<Segment[]> {
  const names = (await readdir(folder)).sort();
  return names.flatMap((name) => {
    const number = NAME.exec(name)?.[1];
    return number === undefined ? [] : [segmentOf(folder, Number(number))];
  });
}

/** The size of all files in bytes. A file that is removed meanwhile counts 0. */
export async function sizeOfSegments(folder: string): Promise<number> {
  const sizes = (await listSegments(folder)).map(async ({ path }) => {
    try {
      return (await stat(path)).size;
    } catch {
      return 0;
    }
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
