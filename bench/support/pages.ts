/** Pages of bet records as a provider sends them. Each depends only on its window and its position. */

export const HOUR_MS = 3_600_000;
export const BEGIN = Date.parse("2026-03-01T00:00:00Z");

/** The volume to pull: the hours of products, and the pages of each hour. */
export interface Volume {
  readonly products: readonly string[];
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
  return volume.products.length * volume.hours * volume.pagesPerHour * volume.pageSize;
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

/** The JSON of one `betTransactionsV2` answer. */
export function pageBody(place: PagePosition, volume: Volume): string {
  const txns = Array.from({ length: volume.pageSize }, (_, index) => recordText(place, volume, index));
  const next = place.page + 1 < volume.pagesPerHour ? `"nextId":"${place.page + 1}",` : "";
  return `{"reqId":"r","code":0,"message":"Success","data":{${next}"txns":[${txns.join(",")}]}}`;
}

function recordText(place: PagePosition, volume: Volume, index: number): string {
  const number = place.page * volume.pageSize + index;
  const at = place.from + Math.floor((number * HOUR_MS) / (volume.pagesPerHour * volume.pageSize));
  const date = new Date(at).toISOString();
  const name = `${place.from.toString(36)}-${number}`;
  const wins = number % 3 === 0;
  return `{"id":"tx-${name}","betId":"bet-${name}","username":"player-${(number * 7919) % 5000}","currency":"THB","accountingDate":"${date}","updatedDate":"${date}","stake":${(number % 500) + 1}.25,"payout":${wins ? `${(number % 900) + 2}.50` : "0"},"productId":"${place.productId}","gameCode":"game-${number % 40}","gameName":"Game number ${number % 40}","roundId":"round-${name}","betStatus":"SETTLED","payoutStatus":"${wins ? "WIN" : "LOSE"}"}`;
}
