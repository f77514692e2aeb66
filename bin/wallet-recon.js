#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=40
/** The command of `npx wallet-recon`: `recon`, and without arguments `recon worker`. */

if (process.argv.length === 2) process.argv.push("worker");
await import("./recon.js");
