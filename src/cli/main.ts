/** Loads `recon`. Node's compile cache lies beside the packages and halves the start of every later command. */

import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Not in a temporary folder: anybody who can write there could make this program run their code.
enableCompileCache(fileURLToPath(new URL("../.cache/wallet-recon", import.meta.resolve("commander"))));
const { runRecon } = await import("./program.ts");
await runRecon();
