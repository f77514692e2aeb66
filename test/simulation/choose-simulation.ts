/** The simulations by the options of `npm run simulate` that choose them. */

import { parseArgs } from "node:util";
import { openCallbackPlays } from "./callback-plays.ts";
import { openKills } from "./kills.ts";
import { LEDGERS, type LedgerHabit } from "./ledger-writer.ts";
import { openPlays } from "./plays.ts";
import type { Simulation } from "./simulation.ts";
import { openTransferPlays } from "./transfer-plays.ts";
import { openYears } from "./year/year-plays.ts";

/** In the form of `parseArgs`. */
export const CHOICES = {
  faults: { type: "string" },
  kills: { type: "string" },
  ledger: { type: "string" },
  transfers: { type: "boolean", default: false },
  callbacks: { type: "boolean", default: false },
  year: { type: "boolean", default: false },
  short: { type: "boolean", default: false },
} as const;

export type Choices = ReturnType<typeof readChoices>;

/**
 * @param progress gets a line for each simulated month
 * @returns opens the simulation
 * @throws Error that names the option and its value
 */
export function chooseSimulation(choices: Choices, progress: (line: string) => void) {
  const { faults, kills, ledger: named, transfers, callbacks, year, short } = choices;
  const ledger = readLedger(named);
  if (year) return () => openYears(short, progress);
  if (transfers) return openTransferPlays;
  if (faults === undefined && kills === undefined && !callbacks) return () => openPlays(ledger);
  if (ledger !== "own")
    throw new Error("--ledger stands alone: with kills, faults or callbacks there is no other ledger");
  if (kills !== undefined && !/^\d{1,4}$/.test(kills))
    throw new Error(`--kills "${kills}" is not a number from 0 to 9999`);
  if (faults !== undefined && faults !== "hostile" && faults !== "none")
    throw new Error(`--faults "${faults}" is neither hostile nor none`);
  if (callbacks) return () => openCallbackPlays(Number(kills ?? 0));
  return async (): Promise<Simulation> => openKills(Number(kills ?? 0), faults ?? "none");
}

/** @throws Error that lists the ledgers */
export function readLedger(named = "own"): LedgerHabit {
  const ledger = LEDGERS.find((one) => one === named);
  if (ledger === undefined) throw new Error(`--ledger "${named}" is none of ${LEDGERS.join(", ")}`);
  return ledger;
}

/** @param options as they are typed: "--ledger tap" @throws Error that names the option */
export function readChoices(options: string) {
  return parseArgs({ args: options.split(" ").filter((one) => one !== ""), options: CHOICES }).values;
}
