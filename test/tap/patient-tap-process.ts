/** A tap as the command runs it, in its own process, whose answers wait for the journal without a limit. */

import { argv } from "node:process";
import { startStoring } from "../../src/cli/commands/tap/tap.ts";
import { systemClock } from "../../src/clock.ts";
import { silentLog } from "../../src/log.ts";
import { startTap } from "../../src/tap/tap.ts";
import { PATIENT_MS } from "./patience.ts";

const [target = "", folder = "", databaseUrl = ""] = argv.slice(2);
startStoring({ folder, databaseUrl, logLevel: "silent", secrets: [] }, silentLog);
const place = { host: "127.0.0.1", port: 0, target: new URL(target), isAllowed: () => true };
const journal = { folder, mostBytes: 1e9, patienceMs: PATIENT_MS };
const { url } = await startTap({ ...place, ...journal }, silentLog, systemClock.now);
process.stdout.write(`${new URL(url).port}\n`);
