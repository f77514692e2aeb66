/** Pages of bet records as a provider sends them. Each depends only on its window and its position. */

export const HOUR_MS = 3_600_000;
export const BEGIN = Date.parse("2026-03-01T00:00:00Z");

/** The volume to pull: the hours of products, and the pages of each hour. The last page of most hours is not full. */
export interface Volume {
  readonly products: readonly string[];
  /** 0: every hour has records, which are made when they are requested */
  readonly hours: number;
  readonly pagesPerHour: number;
  readonly pageSize: number;
}

export interface PagePosition {
  readonly productId: string;
  /** the beginning of the hour, in ms */
  readonly from: number;
  readonly page: number;
}

export function countRecords(volume: Volume): number {
  const hours = Array.from({ length: volume.hours }, (_, hour) =>
    countOfHour(BEGIN + hour * HOUR_MS, volume),
  );
  return volume.products.length * hours.reduce((sum, count) => sum + count, 0);
}

/**
 * The records of an hour: for 97 hours another number each. If three windows in a row had the same number, the worker
 * would halve each window to find out whether its answer was cut.
 */
function countOfHour(from: number, { pagesPerHour, pageSize }: Volume): number {
  const most = pagesPerHour * pageSize;
  const left = Math.min(97, Math.ceil(most / 10));
  return left === 0 ? 0 : most - ((Math.abs(Math.floor((from - BEGIN) / HOUR_MS)) * 37) % left);
}

export function* allPages(volume: Volume): Generator<PagePosition> {
  for (const productId of volume.products) {
    for (let hour = 0; hour < volume.hours; hour += 1) {
      for (let page = 0; page < volume.pagesPerHour; page += 1) {
        yield { productId, from: BEGIN + hour * HOUR_MS, page };
      }
    }
  }
}

/** The JSON of one `betTransactionsV2` answer: a page of an hour. */
export function pageBody(place: PagePosition, volume: Volume): string {
  const { pageSize, pagesPerHour } = volume;
  const all = textsOfHour(place, volume, place.page * pageSize, (place.page + 1) * pageSize);
  return answerOf(all, place.page + 1 < pagesPerHour ? place.page + 1 : null);
}

/** @param texts records as JSON @param next the cursor of the next page; null: this is the last one */
function answerOf(texts: readonly string[], next: number | null): string {
  return `${headOf(next)}${texts.join(",")}${END}`;
}

/** What comes before the records of an answer, and after them. */
export function headOf(next: number | null): string {
  const cursor = next === null ? "" : `"nextId":"${next}",`;
  return `{"reqId":"r","code":0,"message":"Success","data":{${cursor}"txns":[`;
}
export const END = "]}}";

/** The records of an hour in the order of their time, from the place `first` to before the place `end`, as JSON texts. */
export function textsOfHour(
  place: Omit<PagePosition, "page">,
  volume: Volume,
  first = 0,
  end = Number.POSITIVE_INFINITY,
): string[] {
  const count = countOfHour(place.from, volume);
  const length = Math.max(0, Math.min(count, end) - first);
  return Array.from({ length }, (_, index) => recordText(place, first + index, count));
}

/** The place among an hour's records of the first one that is not before the time. */
export function firstFrom(hour: number, time: number, volume: Volume): number {
  const count = countOfHour(hour, volume);
  return Math.min(count, Math.max(0, Math.ceil(((time - hour) * count) / HOUR_MS)));
}

function recordText(place: Omit<PagePosition, "page">, number: number, count: number): string {
  const at = place.from + Math.floor((number * HOUR_MS) / count);
  const date = new Date(at).toISOString();
  const name = `${place.from.toString(36)}-${number}`;
  const wins = number % 3 === 0;
  return `{"id":"tx-${name}","betId":"bet-${name}","username":"player-${(number * 7919) % 5000}","currency":"THB","accountingDate":"${date}","updatedDate":"${date}","stake":${(number % 500) + 1}.25,"payout":${wins ? `${(number % 900) + 2}.50` : "0"},"productId":"${place.productId}","gameCode":"game-${number % 40}","gameName":"Game number ${number % 40}","roundId":"round-${name}","betStatus":"SETTLED","payoutStatus":"${wins ? "WIN" : "LOSE"}"}`;
}
