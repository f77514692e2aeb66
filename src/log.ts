/** The one logger: JSON lines on standard error, without secrets. */

import { destination, type Logger, pino } from "pino";
import { formatInstant, systemClock } from "./clock.ts";

export type Log = Logger;

const REDACTED = [
  "password",
  "*.password",
  "authorization",
  "*.authorization",
  "sessionToken",
  "*.sessionToken",
];

/** Standard output stays free for what a command prints. */
export function createLog(level: string): Log {
  const timestamp = () => `,"time":"${formatInstant(systemClock.now())}"`;
  return pino({ level, base: null, redact: REDACTED, timestamp }, destination(2));
}

export const silentLog: Log = pino({ level: "silent" });
