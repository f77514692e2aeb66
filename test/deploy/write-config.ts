/** A recon.config.json for as long as the tests of a file run. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** @returns its path */
export function writeConfig(text = '{ "products": [{ "productId": "P1" }] }'): string {
  const folder = mkdtempSync(join(tmpdir(), "recon-deploy-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "recon.config.json");
  writeFileSync(path, text);
  return path;
}
