import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRandom } from "../../../src/sandbox/world/random.ts";
import { LEDGERS } from "../ledger-writer.ts";
import { planFaults } from "../seed-plan.ts";
import { CATALOGUE, type OddityLine, oneIn, SIDES } from "./catalogue.ts";
import { ROUNDS } from "./odd-styles.ts";
import { drawStyle } from "./script-style.ts";

const ROOT = join(import.meta.dirname, "../../..");
const idsOf = (playedBy: string) =>
  CATALOGUE.filter((line) => line.playedBy === playedBy).map(({ id }) => id);
const sorted = (ids: readonly string[]) => [...ids].sort();

describe("the catalogue of oddities", () => {
  test("has every round that a style can play, and no other", () => {
    const rounds = Object.entries(ROUNDS).flatMap(([style, named]) =>
      Object.keys(named).map((name) => `${style}/${name}`),
    );
    expect(sorted(idsOf("round"))).toEqual(sorted(rounds));
  });

  test("has every answer of the provider that a seed plans, and no other", () => {
    const kinds = planFaults(1, 0).map((fault) => fault.do.kind);
    expect(sorted(idsOf("fault"))).toEqual(sorted(kinds));
  });

  test("has every way in which an operator keeps its ledger, and no other", () => {
    expect(sorted(idsOf("ledger"))).toEqual(sorted(LEDGERS.map((name) => `ledger-${name}`)));
  });

  test("has every habit of a round, which is drawn as often as its line says", () => {
    const random = createRandom(1);
    const asked: number[] = [];
    drawStyle({
      ...random,
      oneIn: (count) => {
        asked.push(count);
        return random.oneIn(count);
      },
    });
    expect(asked.sort()).toEqual(idsOf("habit").map(oneIn).sort());
  });

  test("names each line once, with a side, a report and a text", () => {
    const ids = CATALOGUE.map(({ id }) => id);
    expect(ids).toHaveLength(new Set(ids).size);
    for (const { id, side, what, report } of CATALOGUE) {
      expect(SIDES, id).toContain(side);
      expect(what, id).not.toBe("");
      expect(report, id).toMatch(/^(design [\d.]+|field: .+|[\w./-]+#\d+)$/);
    }
  });

  const PLAYED_AS = ["round", "habit", "fault", "ledger"];
  const others = CATALOGUE.filter(({ playedBy }) => !PLAYED_AS.includes(playedBy));

  test.each(others)("$id is played by something that exists", ({ report, playedBy }: OddityLine) => {
    if (playedBy.startsWith("by hand: ")) return expect(report).toMatch(/#\d+$/);
    const [file = "", text = ""] = playedBy.split(" > ");
    expect(existsSync(join(ROOT, file)), file).toBe(true);
    expect(text).not.toBe("");
    expect(readFileSync(join(ROOT, file), "utf8")).toContain(text);
  });
});
