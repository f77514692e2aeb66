import { describe, expect, it } from "vitest";
import { checkFaults, FAULT_KINDS } from "../../../src/sandbox/faults/fault.ts";
import { hostileFaults } from "../../../src/sandbox/faults/fault-list.ts";
import { startSandbox } from "../../../src/sandbox/server/server.ts";
import { isInvented } from "../../../src/sandbox/server/spoil-answer.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import { cutIntoPieces } from "../../../src/window.ts";
import { CREDENTIALS, type Item, written } from "../agent.ts";
import { readPatiently } from "../patient-client.ts";
import { HOUR, MINUTE, planOf, START } from "../plans.ts";
import { createStillClock } from "../still-clock.ts";

const RANGE = { from: START, to: START + HOUR };
const QUIET = START + 3 * HOUR;
const SEEDS = [1, 2, 3];

describe("hostile faults", () => {
  it.each(SEEDS)("are of every kind, and none lasts (seed %i)", (seed) => {
    const faults = checkFaults(hostileFaults(seed), []);
    expect(new Set(faults.map(({ do: { kind } }) => kind))).toEqual(new Set(FAULT_KINDS));
    for (const { when } of faults) expect(when.share).toBeLessThan(0.01);
  });

  it.each(SEEDS)("strike about one request in ten (seed %i)", (seed) => {
    const shares = hostileFaults(seed).map(({ when }) => when?.share ?? 1);
    const sum = shares.reduce((total, share) => total + share);
    expect(sum).toBeGreaterThan(0.08);
    expect(sum).toBeLessThan(0.13);
  });

  it("are the same for the same seed, and different for another", () => {
    expect(hostileFaults(1)).toEqual(hostileFaults(1));
    expect(hostileFaults(1)).not.toEqual(hostileFaults(2));
  });

  it.each(SEEDS)("hide no record from a patient client, and give it no wrong one (seed %i)", async (seed) => {
    const world = createWorld(planOf({ seed }));
    const clock = createStillClock(QUIET);
    const sandbox = await startSandbox({
      ...CREDENTIALS,
      world,
      clock,
      host: "127.0.0.1",
      port: 0,
      pageSize: 10,
      faults: hostileFaults(seed),
    });
    try {
      for (const { productId } of world.products) {
        const items: Item[] = [];
        for (const piece of cutIntoPieces(RANGE, 15 * MINUTE)) {
          items.push(...(await readPatiently(sandbox.url, productId, piece)));
        }
        const genuine = new Map(
          items.filter(({ id }) => !isInvented(String(id))).map((item) => [item["id"], item]),
        );
        const expected = written(world.recordsIn(productId, RANGE, QUIET));
        expect(genuine).toEqual(new Map(expected.map((record) => [record["id"], record])));
      }
      const { total, answered, faults } = sandbox.requests();
      const struck = Object.values(faults).reduce((sum, count) => sum + count);
      expect(answered + struck).toBe(total);
      expect(struck).toBeGreaterThan(10);
    } finally {
      await sandbox.close();
    }
  });
});
