/**
 * A provider that takes a fixed time for every page, in a process of its own. Counts the answers of each worker,
 * which its credentials name, and the most requests at once.
 */

import { createServer, type IncomingHttpHeaders } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { pageBody, type Volume } from "./pages.ts";

/** The counts since the last message that asked for them. */
export interface WireReport {
  readonly answered: Readonly<Record<string, number>>;
  readonly mostAtOnce: number;
}

const ANSWER_MS = Number(process.argv[2]);
const volume: Volume = { products: ["P1"], hours: 1, pagesPerHour: 1, pageSize: 50 };
let answered: Record<string, number> = {};
let atOnce = 0;
let mostAtOnce = 0;

const server = createServer(async ({ url, headers }, response) => {
  atOnce += 1;
  mostAtOnce = Math.max(mostAtOnce, atOnce);
  await pause(ANSWER_MS);
  const from = Date.parse(new URL(url ?? "/", "http://provider").searchParams.get("startTime") ?? "");
  const worker = nameOf(headers);
  answered[worker] = (answered[worker] ?? 0) + 1;
  // Before the answer is sent, because its receiver may send the next request at once.
  atOnce -= 1;
  response.setHeader("content-type", "application/json");
  response.end(pageBody({ productId: "P1", from, page: 0 }, volume));
});

function nameOf({ authorization = "" }: IncomingHttpHeaders): string {
  const [name = ""] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
  return name;
}

process.on("message", () => {
  process.send?.({ answered, mostAtOnce } satisfies WireReport);
  answered = {};
  mostAtOnce = atOnce;
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
