import { describe, expect, test } from "vitest";
import { Preempted } from "../../src/preempted.ts";
import { openTurns } from "../../src/verify/turns.ts";

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Work that ends when the test ends it. */
function open(slots: number, slowMs = 60_000) {
  const turns = openTurns(slots, slowMs);
  const begun: string[] = [];
  const ending: (() => void)[] = [];
  const over: string[] = [];
  const take = (line: string) => {
    turns
      .take(line, async (signal) => {
        begun.push(line);
        await new Promise<void>((resolve, reject) => {
          ending.push(resolve);
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      })
      .catch((error: unknown) => over.push(error instanceof Preempted ? line : String(error)));
  };
  return {
    begun,
    over,
    take: (line: string, times = 1) => {
      for (let index = 0; index < times; index += 1) take(line);
    },
    /** Ends the oldest work that runs. */
    end: async () => {
      ending.shift()?.();
      await settled();
    },
  };
}

describe("slots", () => {
  test("all go to one line if only that line asks", async () => {
    const { take, begun, end } = open(3);
    take("A", 5);
    await settled();
    expect(begun).toEqual(["A", "A", "A"]);
    await end();
    expect(begun).toHaveLength(4);
  });

  test("are shared evenly by lines that all ask for more than there are", async () => {
    const { take, begun, end } = open(2);
    for (const line of ["A", "B", "C"]) take(line, 30);
    await settled();
    for (let index = 0; index < 40; index += 1) await end();
    const counts = ["A", "B", "C"].map((line) => begun.filter((one) => one === line).length);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(2);
  });

  test("of a line that hangs stay its share, and the others use the rest", async () => {
    const turns = openTurns(4);
    const asked = { hanging: 0, quick: 0 };
    const never = new Promise<void>(() => {});
    for (let index = 0; index < 100; index += 1) {
      void turns.take("hanging", async () => {
        asked.hanging += 1;
        await never;
      });
      void turns.take("quick", async () => {
        asked.quick += 1;
      });
    }
    for (let index = 0; index < 200; index += 1) await settled();
    expect(asked.quick).toBe(100);
    expect(asked.hanging).toBeLessThanOrEqual(4);
  });
});

describe("a line without a slot, if all are taken", () => {
  test("gets the slot of a slow question of the line with the most", async () => {
    const { take, begun, over } = open(3, 20);
    take("hanging", 6);
    await settled();
    take("late");
    await expect.poll(() => begun).toEqual(["hanging", "hanging", "hanging", "late"]);
    expect(over).toEqual(["hanging"]);
  });

  test("keeps the slot: the line that gave it up keeps to half of the slots until it answers quickly again", async () => {
    const { take, begun, end } = open(4, 20);
    take("hanging", 20);
    await settled();
    take("late");
    await expect.poll(() => begun).toHaveLength(5);
    // One question was given up, and two more end slowly. One is at work, and one more begins, though three slots are free.
    for (let index = 0; index < 3; index += 1) await end();
    expect(begun.filter((line) => line === "hanging")).toHaveLength(5);
  });

  test("waits if each line has only one", async () => {
    const { take, begun, over, end } = open(2, 1);
    take("A");
    take("B");
    await settled();
    take("C");
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([begun, over]).toEqual([["A", "B"], []]);
    await end();
    expect(begun).toEqual(["A", "B", "C"]);
  });
});
