#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=40
/** Starts `recon`. Node's compile cache lies beside the packages and halves the start of every later command. */

import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Not in a temporary folder: anybody who can write there could make this program run their code.
enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/wallet-recon", import.meta.url)));
const { runRecon } = await import("./program.ts");
await runRecon();
