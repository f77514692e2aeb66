/**
 * Finds fields that the API of Kubernetes does not have. Its schemas allow any further field, and the server drops them
 * in silence; the types of TypeScript do not allow them.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../docs/pages.ts";
import type { Manifest } from "./manifest.ts";

const run = promisify(execFile);
const TYPESCRIPT = join(ROOT, "node_modules/typescript/bin/tsc");

/** @returns what the compiler says, a line for each field */
export async function misspelledFields(
  manifests: readonly (Manifest & { readonly package: string })[],
): Promise<string[]> {
  // Below node_modules the compiler finds the packages.
  const folder = mkdtempSync(join(ROOT, "node_modules/.cache/recon-manifests-"));
  const path = join(folder, "manifests.ts");
  const lines = manifests.map(({ package: from, ...manifest }, index) => {
    const type = `import(${JSON.stringify(from)}).I${manifest.kind}`;
    return `export const of${index}: ${type} = ${JSON.stringify(manifest)};\n`;
  });
  writeFileSync(path, lines.join(""));
  const how = ["--noEmit", "--strict", "--skipLibCheck", "--ignoreConfig", "--module", "nodenext"];
  try {
    await run(process.execPath, [TYPESCRIPT, ...how, path], { cwd: folder });
    return [];
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}`.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
