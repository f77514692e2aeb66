#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=40
/** Starts `recon`. The compiled program is kept beside the packages, which halves the start of every later command. */

import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Not in a folder for temporary files: who can write there could have this program run theirs.
enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/wallet-recon", import.meta.url)));
const { runRecon } = await import("./program.ts");
await runRecon();
