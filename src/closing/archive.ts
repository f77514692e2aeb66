/** The sealed files of a closed day (§3.10): their names, their lines and their manifest. Pure. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { formatInstant, parseInstant } from "../clock.ts";
import { canonicalJson, hashOf, type Statement } from "./statement.ts";

export const MANIFEST = "manifest.json";
const ENDING = ".ndjson.gz";

/**
 * The file of a product. Characters that a file system may not know are written as in a URL, so the id can be read back:
 * "a/b" is in "a%2Fb.ndjson.gz".
 */
export function fileOf(productId: string): string {
  const safe = encodeURIComponent(productId).replace(
    /[!'()*~]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  // A name that begins with a dot is hidden.
  return `${safe.replace(/^\./, "%2E")}${ENDING}`;
}

/** @returns null: no product has this file */
export function productOf(file: string): string | null {
  try {
    const productId = decodeURIComponent(file.slice(0, -ENDING.length));
    return productId !== "" && fileOf(productId) === file ? productId : null;
  } catch {
    return null;
  }
}

const HASH = z.string().regex(/^[0-9a-f]{64}$/);

const FILE = z.strictObject({ name: z.string(), sha256: HASH, lines: z.number().int().min(0) });
export type ArchivedFile = Readonly<z.output<typeof FILE>>;

/**
 * A manifest. Everything else in it is the statement, so its hash, which the next day names, can be computed without a
 * database.
 */
const MANIFEST_SHAPE = z.looseObject({
  day: z.iso.date(),
  zone: z.string(),
  number: z.number().int().min(1),
  previousHash: HASH.nullable(),
  files: z.array(FILE),
  /** by file: the CRC-32 of equal shares of its lines, which say where an altered file was altered */
  marks: z.record(z.string(), z.string().regex(/^([0-9a-f]{8})*$/)),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  closedAt: z.iso.datetime(),
});
export type Manifest = z.output<typeof MANIFEST_SHAPE>;

/** @throws Error that says what is wrong */
export function parseManifest(text: string): Manifest {
  const parsed = MANIFEST_SHAPE.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "it is no manifest"}`);
}

/** The manifest of a statement, as the bytes that are written. */
export function manifestText(
  { from, to, closedAt, archive: _, ...statement }: Statement,
  files: readonly ArchivedFile[],
  marks: Readonly<Record<string, string>>,
): string {
  const times = { from: formatInstant(from), to: formatInstant(to), closedAt: formatInstant(closedAt) };
  return `${canonicalJson({ ...statement, ...times, files, marks })}\n`;
}

/** The hash of the statement that a manifest belongs to. @param text the bytes of the manifest */
export function hashOfManifest(manifest: Manifest, text: string): string {
  const { files: _, marks: __, from, to, closedAt, ...statement } = manifest;
  return hashOf({
    ...statement,
    from: parseInstant(from, "from"),
    to: parseInstant(to, "to"),
    closedAt: parseInstant(closedAt, "closedAt"),
    archive: sha256(text),
  } as unknown as Statement);
}

export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The most marks of a file: a file with fewer lines has one for each line. */
const MOST_MARKS = 4_096;

/** The number of lines that share a mark. */
export function linesOfMark(lines: number): number {
  return Math.max(1, Math.ceil(lines / MOST_MARKS));
}
