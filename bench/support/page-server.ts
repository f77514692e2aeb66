/**
 * A provider that answers at once, in a process of its own, so that the figure measures the pull and not the
 * provider.
 */

import { createServer } from "node:http";
import { allPages, type PagePosition, pageBody, type Volume } from "./pages.ts";

/** Pages of a small volume are made before the clock starts; pages of a large volume when they are requested. */
const MOST_PAGES_KEPT = 400;

const volume = JSON.parse(process.argv[2] ?? "{}") as Volume;
const keyOf = (place: PagePosition) => `${place.productId} ${place.from} ${place.page}`;
const kept = new Map<string, Buffer>();
for (const place of allPages(volume)) {
  if (kept.size === MOST_PAGES_KEPT) break;
  kept.set(keyOf(place), Buffer.from(pageBody(place, volume)));
}

const server = createServer((request, response) => {
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  const place = {
    productId: query.get("productId") ?? "",
    from: Date.parse(query.get("startTime") ?? ""),
    page: Number(query.get("nextId") ?? "0"),
  };
  const body = kept.get(keyOf(place)) ?? Buffer.from(pageBody(place, volume));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
process.on("disconnect", () => process.exit());
