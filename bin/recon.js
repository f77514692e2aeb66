#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=40
/**
 * The command `recon`: the sources in a checkout, what `npm run build` made of them in the package. Any Node since 14
 * reads this file, so that an older one than the program needs gets one line instead of a syntax error.
 */

import { existsSync } from "node:fs";

const OLDEST = [22, 18];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `recon: this is Node ${process.versions.node}, and wallet-recon needs Node ${OLDEST.join(".")} or newer. ` +
      "Install one (https://nodejs.org/), and start again.\n",
  );
  process.exitCode = 1;
} else {
  // The program takes some seconds to load at its first start. Other starts have a log, which has its own form.
  if (process.env.npm_lifecycle_event === "start") process.stdout.write("wallet-recon starts.\n");
  const source = new URL("../src/cli/main.ts", import.meta.url);
  await import(existsSync(source) ? source.href : "../dist/src/cli/main.js");
}
