/**
 * A provider that answers at once, in a process of its own, so that the figure measures the pull and not the provider:
 * the bytes of a small volume are made before the clock starts, and sent without a copy.
 */

import { createServer } from "node:http";
import { BEGIN, END, firstFrom, HOUR_MS, headOf, textsOfHour, type Volume } from "./pages.ts";

/** The records of a larger volume are made when they are requested. */
const MOST_RECORDS_KEPT = 400_000;

const volume = JSON.parse(process.argv[2] ?? "{}") as Volume;

/** The records of an hour with a comma after each, and where each begins. */
interface HourBytes {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

function bytesOfHour(productId: string, from: number): HourBytes {
  const texts = textsOfHour({ productId, from }, volume);
  const starts = new Uint32Array(texts.length + 1);
  for (const [index, text] of texts.entries()) starts[index + 1] = (starts[index] ?? 0) + text.length + 1;
  return { bytes: bytesOf(texts), starts };
}

function bytesOf(texts: readonly string[]): Buffer {
  return Buffer.from(texts.map((text) => `${text},`).join(""), "latin1");
}

/** The records of an hour from the place `first` to before the place `end`, with a comma after each. */
function partOf(productId: string, from: number, first: number, end: number): Buffer {
  const hour = kept.get(`${productId} ${from}`);
  if (hour === undefined) return bytesOf(textsOfHour({ productId, from }, volume, first, end));
  return hour.bytes.subarray(hour.starts[first], hour.starts[end]);
}

const kept = new Map<string, HourBytes>();
let keptRecords = 0;
for (const productId of volume.products) {
  for (let hour = 0; hour < volume.hours && keptRecords < MOST_RECORDS_KEPT; hour += 1) {
    const from = BEGIN + hour * HOUR_MS;
    const made = bytesOfHour(productId, from);
    kept.set(`${productId} ${from}`, made);
    keptRecords += made.starts.length - 1;
  }
}

/** The page of a range, in the order of time. Outside the volume there are no records. */
function pageOf(productId: string, start: number, end: number, page: number): Buffer[] {
  const places = { from: page * volume.pageSize, to: (page + 1) * volume.pageSize };
  const [earliest, last] =
    volume.hours === 0 ? [0, Number.POSITIVE_INFINITY] : [BEGIN, BEGIN + (volume.hours - 1) * HOUR_MS];
  const parts: Buffer[] = [];
  let passed = 0;
  const begin = Math.max(earliest, Math.floor(start / HOUR_MS) * HOUR_MS);
  for (let from = begin; from < end && from <= last; from += HOUR_MS) {
    const first = firstFrom(from, start, volume);
    const count = firstFrom(from, end, volume) - first;
    const [a, b] = [Math.max(0, places.from - passed), Math.min(count, places.to - passed)];
    passed += count;
    if (a >= b) continue;
    parts.push(partOf(productId, from, first + a, first + b));
  }
  const records = parts.map((part, index) => (index === parts.length - 1 ? part.subarray(0, -1) : part));
  return [Buffer.from(headOf(places.to < passed ? page + 1 : null)), ...records, Buffer.from(END)];
}

const server = createServer((request, response) => {
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  const timeOf = (name: string) => Date.parse(query.get(name) ?? "");
  const page = Number(query.get("nextId") ?? "0");
  const parts = pageOf(query.get("productId") ?? "", timeOf("startTime"), timeOf("endTime"), page);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { "content-type": "application/json", "content-length": length });
  for (const part of parts) response.write(part);
  response.end();
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
process.on("disconnect", () => process.exit());
