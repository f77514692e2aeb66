/** Answers of a provider that are larger, deeper or more numerous than a page of bets, by their description. */

import { gzipSync } from "node:zlib";
import { betItem } from "../support/http-provider.ts";

export interface HostileAnswer {
  readonly body: Buffer;
  readonly isPacked: boolean;
}

const MEGABYTE = 1_000_000;

/** @param scale 1: as large as an answer could once be; less for a quick run */
export function hostileAnswers(scale: number): ReadonlyMap<string, () => HostileAnswer> {
  const packed = (text: string): HostileAnswer => ({ body: gzipSync(text), isPacked: true });
  const plain = (text: string): HostileAnswer => ({ body: Buffer.from(text), isPacked: false });
  const page = (items: string) => `{"code":0,"data":{"txns":[${items}]}}`;
  const times = (count: number) => Math.max(1, Math.round(count * scale));
  const listOf = (item: string, bytes: number) =>
    `${item},`.repeat(times(bytes / (item.length + 1))).slice(0, -1);
  const long = "x".repeat(times(60 * MEGABYTE));
  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => [`field${index}`, '{"a":[1,"b"]}'] as const);
  return new Map([
    ["empty items", () => packed(page(listOf("{}", 60 * MEGABYTE)))],
    ["numbers", () => packed(page(listOf("1", 60 * MEGABYTE)))],
    ["one long text", () => packed(page(`"${long}"`))],
    ["one long text beside the records", () => packed(`{"code":0,"message":"${long}"}`)],
    ["one long number", () => packed(page("1".repeat(times(60 * MEGABYTE))))],
    ["brackets", () => packed(page("[".repeat(times(60 * MEGABYTE))))],
    ["brackets beside the records", () => packed("[".repeat(times(60 * MEGABYTE)))],
    ["white space", () => packed(page(" ".repeat(times(60 * MEGABYTE))))],
    ["a record of many fields", () => packed(page(betItem(Object.fromEntries(fields(times(500_000))))))],
    [
      "bad records",
      () => plain(page(listOf(betItem({ stake: '"ten"', note: `"${"n".repeat(1_000)}"` }), 15 * MEGABYTE))),
    ],
    ["large records", () => plain(page(listOf(betItem(Object.fromEntries(fields(2_000))), 15 * MEGABYTE)))],
    [
      "as many good records as there may be",
      () =>
        plain(
          page(
            Array.from({ length: times(10_000) }, (_, index) =>
              betItem({ id: `"rec-${index}"`, betId: `"bet-${index}"`, note: `"${"n".repeat(1_000)}"` }),
            ).join(","),
          ),
        ),
    ],
  ]);
}
