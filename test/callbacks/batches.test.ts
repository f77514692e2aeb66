import { expect, onTestFinished, test } from "vitest";
import { type BatchLimits, openBatches } from "../../src/callbacks/wallet.ts";
import { Deadline } from "../../src/db/deadline.ts";

const LIMITS: BatchLimits = { atOnce: 1, requests: 3, items: 10, bytes: 100 };
const SMALL = { items: 1, bytes: 1 };

/** Batches that end when the test ends them. */
function openHeld(limits: Partial<BatchLimits> = {}) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const fails: ((reason: Error) => void)[] = [];
  const apply = openBatches<string, string>({ ...LIMITS, ...limits }, async (names) => {
    begun.push(names.join(" "));
    await new Promise<void>((resolve, reject) => {
      ends.push(resolve);
      fails.push(reject);
    });
    return names.map((name) => `${name} done`);
  });
  const ask = (name: string, size = SMALL) => {
    const deadline = new Deadline(60_000);
    onTestFinished(() => deadline.stop());
    const answered = apply(name, size, deadline);
    answered.catch(() => {});
    return { answered, deadline };
  };
  /** Resolves when every request that can begin has begun. */
  const turn = async () => {
    for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve));
  };
  const endFirst = async () => {
    fails.shift();
    ends.shift()?.();
    await turn();
  };
  const failFirst = async () => {
    ends.shift();
    fails.shift()?.(new Error("it failed"));
    await turn();
  };
  return { ask, turn, endFirst, failFirst, begun };
}

test("requests that wait together are one batch, and each gets its own outcome", async () => {
  const { ask, turn, endFirst, begun } = openHeld();
  const [first, second] = [ask("a"), ask("b")];
  await turn();
  expect(begun).toEqual(["a b"]);
  await endFirst();
  expect(await Promise.all([first.answered, second.answered])).toEqual(["a done", "b done"]);
});

test("requests that arrive while a batch is under way are the next batch, up to the limits", async () => {
  const { ask, turn, endFirst, begun } = openHeld();
  ask("a");
  await turn();
  for (const name of ["b", "c", "d", "e"]) ask(name);
  await turn();
  expect(begun).toEqual(["a"]);
  await endFirst();
  expect(begun).toEqual(["a", "b c d"]);
  await endFirst();
  expect(begun).toEqual(["a", "b c d", "e"]);
});

test("several batches are under way at once if the limit allows it", async () => {
  const { ask, turn, begun } = openHeld({ atOnce: 2 });
  for (const name of ["a", "b", "c"]) {
    ask(name);
    await turn();
  }
  expect(begun).toEqual(["a", "b"]);
});

test.each(["items", "bytes"] as const)(
  "a batch ends before the request that would exceed its %s, and a request above the limit is a batch alone",
  async (of) => {
    const { ask, turn, endFirst, begun } = openHeld();
    const part = (share: number) => ({ ...SMALL, [of]: LIMITS[of] * share });
    ask("large", part(2));
    ask("half", part(0.5));
    ask("another-half", part(0.5));
    ask("small");
    await turn();
    for (const _ of [1, 2]) await endFirst();
    expect(begun).toEqual(["large", "half another-half", "small"]);
  },
);

test("a caller that disconnects while waiting is rejected at once, and is in no batch", async () => {
  const { ask, turn, endFirst, begun } = openHeld();
  ask("a");
  await turn();
  const gone = ask("b");
  ask("c");
  gone.deadline.leave(new Error("gone"));
  await expect(gone.answered).rejects.toThrow("gone");
  await endFirst();
  expect(begun).toEqual(["a", "c"]);
});

test("if a batch fails, each of its requests is served alone, and fails alone", async () => {
  const { ask, turn, failFirst, endFirst, begun } = openHeld();
  const [first, second] = [ask("a"), ask("b")];
  await turn();
  await failFirst();
  await failFirst();
  await endFirst();
  expect(begun).toEqual(["a b", "a", "b"]);
  await expect(first.answered).rejects.toThrow("it failed");
  expect(await second.answered).toBe("b done");
});
