import { expect, onTestFinished, test } from "vitest";
import { openPlayerQueue } from "../../src/callbacks/player-queue.ts";
import { Deadline } from "../../src/db/deadline.ts";

const LIMITS = { atOnce: 2, mostWaiting: 4, mostWaitingOfPlayer: 2 };

/** Work that ends when the test ends it. */
function openWork(limits = LIMITS) {
  const line = openPlayerQueue(limits);
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
    return { answered: line.run(player, work, deadline), deadline };
  };
  const end = async (name: string, { answered }: { answered: Promise<unknown> }) => {
    ends.get(name)?.();
    await answered;
    // The work that waited begins in the same turn of the event loop.
    await Promise.resolve();
  };
  return { ask, end, begun };
}

test("requests of one player run one at a time in their order, and requests of other players pass them", async () => {
  const { ask, end, begun } = openWork();
  const first = ask("anna-1", "anna");
  ask("anna-2", "anna");
  const ben = ask("ben-1", "ben");
  ask("cora-1", "cora");
  expect(begun).toEqual(["anna-1", "ben-1"]);
  await end("ben-1", ben);
  expect(begun).toEqual(["anna-1", "ben-1", "cora-1"]);
  await end("anna-1", first);
  expect(begun).toEqual(["anna-1", "ben-1", "cora-1", "anna-2"]);
});

test("requests of unknown players do not wait for each other", () => {
  const { ask, begun } = openWork();
  ask("one", null);
  ask("two", null);
  expect(begun).toEqual(["one", "two"]);
});

test("a caller that hangs up while waiting is rejected at once, and its work never begins", async () => {
  const { ask, end, begun } = openWork();
  const first = ask("anna-1", "anna");
  const second = ask("anna-2", "anna");
  ask("anna-3", "anna");
  second.deadline.leave(new Error("gone"));
  await expect(second.answered).rejects.toThrow("gone");
  await end("anna-1", first);
  expect(begun).toEqual(["anna-1", "anna-3"]);
});

test("a caller that hangs up during its work is rejected at once, and keeps its place until the work has ended", async () => {
  const { ask, begun } = openWork({ ...LIMITS, atOnce: 1 });
  const first = ask("anna-1", "anna");
  ask("ben-1", "ben");
  first.deadline.leave(new Error("gone"));
  await expect(first.answered).rejects.toThrow("gone");
  expect(begun).toEqual(["anna-1"]);
});

test("the queue refuses too many waiting requests at once, of one player and of all; a caller that has hung up no longer counts", async () => {
  const { ask } = openWork();
  const [, , last] = ["anna-1", "anna-2", "anna-3"].map((name) => ask(name, "anna"));
  await expect(ask("anna-4", "anna").answered).rejects.toThrow("2 callbacks of this player wait already");
  ask("ben-1", "ben");
  ask("cora-1", "cora");
  ask("dora-1", "dora");
  await expect(ask("emma-1", "emma").answered).rejects.toThrow("4 callbacks wait already");
  last?.deadline.leave(new Error("gone"));
  await expect(last?.answered).rejects.toThrow("gone");
  const emma = ask("emma-2", "emma");
  emma.deadline.leave(new Error("was let in"));
  await expect(emma.answered).rejects.toThrow("was let in");
});
