import { expect, onTestFinished, test } from "vitest";
import { openPlayerQueue } from "../../src/callbacks/player-queue.ts";
import { Deadline } from "../../src/db/deadline.ts";

const LIMITS = { mostUnanswered: 5, mostWaitingOfPlayer: 2 };

/** Work that ends when the test ends it. */
function openWork() {
  const queue = openPlayerQueue(LIMITS);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, player: string | null) => {
    const deadline = new Deadline(60_000);
    onTestFinished(() => deadline.stop());
    const work = async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    };
    return { answered: queue.run(player, work, deadline), deadline };
  };
  /** Ends work, and waits until the next work has begun. */
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ask, end, begun };
}

test("requests of one player run one at a time, in their order, and no other player waits for them", async () => {
  const { ask, end, begun } = openWork();
  const first = ask("anna-1", "anna");
  ask("anna-2", "anna");
  ask("anna-3", "anna");
  ask("ben-1", "ben");
  expect(begun).toEqual(["anna-1", "ben-1"]);
  await end("anna-1");
  expect(await first.answered).toBe("anna-1");
  expect(begun).toEqual(["anna-1", "ben-1", "anna-2"]);
  await end("anna-2");
  expect(begun).toEqual(["anna-1", "ben-1", "anna-2", "anna-3"]);
});

test("requests of unknown players do not wait for each other", () => {
  const { ask, begun } = openWork();
  ask("one", null);
  ask("two", null);
  expect(begun).toEqual(["one", "two"]);
});

test("a caller that disconnects while waiting is rejected at once, and its work never begins", async () => {
  const { ask, end, begun } = openWork();
  ask("anna-1", "anna");
  const second = ask("anna-2", "anna");
  ask("anna-3", "anna");
  second.deadline.leave(new Error("gone"));
  await expect(second.answered).rejects.toThrow("gone");
  await end("anna-1");
  expect(begun).toEqual(["anna-1", "anna-3"]);
});

test("a caller that disconnects during its work is rejected at once, and the player's next work waits until it has ended", async () => {
  const { ask, end, begun } = openWork();
  const first = ask("anna-1", "anna");
  ask("anna-2", "anna");
  first.deadline.leave(new Error("gone"));
  await expect(first.answered).rejects.toThrow("gone");
  expect(begun).toEqual(["anna-1"]);
  await end("anna-1");
  expect(begun).toEqual(["anna-1", "anna-2"]);
});

test("the queue refuses too many requests at once, of one player and of all; a caller that has disconnected no longer counts", async () => {
  const { ask } = openWork();
  const [, , last] = ["anna-1", "anna-2", "anna-3"].map((name) => ask(name, "anna"));
  await expect(ask("anna-4", "anna").answered).rejects.toThrow(
    "2 callbacks of this player are already waiting",
  );
  ask("ben-1", "ben");
  ask("cora-1", "cora");
  await expect(ask("dora-1", "dora").answered).rejects.toThrow("5 callbacks are already waiting");
  last?.deadline.leave(new Error("gone"));
  await expect(last?.answered).rejects.toThrow("gone");
  ask("anna-5", "anna");
  await expect(ask("dora-2", "dora").answered).rejects.toThrow("5 callbacks are already waiting");
});
