import { describe, expect, test } from "vitest";
import { openTurns, TurnOver } from "../../src/verify/turns.ts";

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Work that ends when it is told to. */
function open(lanes: number, slowMs = 60_000) {
  const turns = openTurns(lanes, slowMs);
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
      .catch((error: unknown) => over.push(error instanceof TurnOver ? line : String(error)));
  };
  return {
    begun,
    over,
    take: (line: string, times = 1) => {
      for (let index = 0; index < times; index += 1) take(line);
    },
    /** The oldest of those at work. */
    end: async () => {
      ending.shift()?.();
      await settled();
    },
  };
}

describe("lanes", () => {
  test("are all of the one line that has something to ask", async () => {
    const { take, begun, end } = open(3);
    take("A", 5);
    await settled();
    expect(begun).toEqual(["A", "A", "A"]);
    await end();
    expect(begun).toHaveLength(4);
  });

  test("are shared evenly by lines that all have more to ask than there is room for", async () => {
    const { take, begun, end } = open(2);
    for (const line of ["A", "B", "C"]) take(line, 30);
    await settled();
    for (let index = 0; index < 40; index += 1) await end();
    const counts = ["A", "B", "C"].map((line) => begun.filter((one) => one === line).length);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(2);
  });

  test("a line that hangs keeps its share, and the others go on in what is left", async () => {
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

describe("a line that has none, where all lanes are taken", () => {
  test("gets that of a slow question of the line with the most", async () => {
    const { take, begun, over } = open(3, 20);
    take("hanging", 6);
    await settled();
    take("late");
    await expect.poll(() => begun).toEqual(["hanging", "hanging", "hanging", "late"]);
    expect(over).toEqual(["hanging"]);
  });

  test("keeps it: what had to make room keeps to half of the lanes until it answers quickly again", async () => {
    const { take, begun, end } = open(4, 20);
    take("hanging", 20);
    await settled();
    take("late");
    await expect.poll(() => begun).toHaveLength(5);
    // One was given up, and two more end slowly: one is at work, and one more begins, though three lanes are free.
    for (let index = 0; index < 3; index += 1) await end();
    expect(begun.filter((line) => line === "hanging")).toHaveLength(5);
  });

  test("waits where each line has but one", async () => {
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
