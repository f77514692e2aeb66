/**
 * The seeds that `npm test` plays: each failed once in a simulation. `npm run nightly` adds those that it finds to
 * `kept-seeds.json`; the reviewer of the mended fault writes its `why`.
 */

import { readFileSync } from "node:fs";
import { z } from "zod";
import { readChoices, readLedger } from "./choose-simulation.ts";
import type { LedgerHabit } from "./ledger-writer.ts";

/** A world that is played in this process. */
export interface Play {
  readonly seed: number;
  readonly ledger: LedgerHabit;
}

export const KEPT_SEEDS_FILE = new URL("./kept-seeds.json", import.meta.url);

const keptSeedsForm = z.array(
  z.strictObject({
    /** of `npm run simulate`, without the seed: "--ledger tap" */
    options: z.string(),
    seed: z.int().min(0).max(999_999_999),
    why: z.string().min(1),
  }),
);
export type KeptSeed = z.infer<typeof keptSeedsForm>[number];

/** @throws Error if the file has another form */
export function readKeptSeeds(): KeptSeed[] {
  return keptSeedsForm.parse(JSON.parse(readFileSync(KEPT_SEEDS_FILE, "utf8")));
}

const isWorld = (kept: KeptSeed) => /^(--ledger \S+)?$/.test(kept.options);

/** Worlds. Each product is played, and each kind of mismatch is planted. Plain rows are played in test/field, too. */
export const PLAYS: readonly Play[] = readKeptSeeds()
  .filter(isWorld)
  .map(({ seed, options }) => ({ seed, ledger: readLedger(readChoices(options).ledger) }));

/** What is not a world: transfers, years, and processes that are killed. */
export const OTHER_KEPT_SEEDS: readonly KeptSeed[] = readKeptSeeds().filter((kept) => !isWorld(kept));
