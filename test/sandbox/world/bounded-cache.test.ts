import { expect, it } from "vitest";
import { createCache } from "../../../src/sandbox/world/bounded-cache.ts";

it("the cache makes a value once while it keeps the value, and drops the value that was not used for longest", () => {
  const made: string[] = [];
  const cache = createCache<string>(3, () => 1);
  const get = (key: string) =>
    cache.get(key, () => {
      made.push(key);
      return key.toUpperCase();
    });
  expect(["a", "b", "c", "a", "d", "a", "b"].map(get)).toEqual(["A", "B", "C", "A", "D", "A", "B"]);
  expect(made).toEqual(["a", "b", "c", "d", "b"]);
});

it("the cache keeps a single value that is too heavy, alone", () => {
  let times = 0;
  const cache = createCache<number>(10, (weight) => weight);
  const get = (key: string) =>
    cache.get(key, () => {
      times++;
      return 50;
    });
  get("a");
  get("b");
  get("b");
  expect(times).toBe(2);
  get("a");
  expect(times).toBe(3);
});
