/** Notifies open pages of changed topics (`GET /changes`, server-sent events). */

import { setInterval } from "node:timers";
import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { sendProblem, wantsPage } from "../../http/problem.ts";
import { watchChanges } from "./watch-changes.ts";
import { digestMarks, LIVE_TOPICS, type Marks } from "./what-changed.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** the marks of before the page is read; null: not known, or the request asks for no page */
    marks: Marks | null;
  }
}

/** A page that hears nothing for three heartbeats says so (assets/live.js). Proxies close streams that are silent for long. */
const HEARTBEAT_MS = 15_000;

/** The longest stream. The browser then connects again, and a signed-out visitor is refused. */
const LONGEST_STREAM_MS = 10 * 60_000;

/** The limit of open pages: each uses a connection. */
const MOST_STREAMS = 200;
/** The limit of one token, so that a script does not use up all streams. */
const MOST_OF_TOKEN = 30;

/** Streams do not delay the end of the server. */
const NO_HEAD = { exposeHeadRoute: false };

/** Adds the stream to the pages, and to each request for a page its marks. The stream ends with the server. */
export function addChanges(pages: FastifyInstance, context: FlowContext): void {
  const watch = watchChanges(context);
  const seats = openSeats();
  pages.addHook("onClose", async () => watch.end());
  pages.decorateRequest("marks", null);
  pages.addHook("preHandler", async (request) => {
    if (request.method === "GET" && wantsPage(request)) request.marks = await watch.readMarks();
  });
  pages.get<{ Querystring: { topics?: string; seen?: string } }>(
    "/changes",
    NO_HEAD,
    async (request, reply) => {
      const asked = (request.query.topics ?? "").split(",");
      const topics = LIVE_TOPICS.filter((topic) => asked.includes(topic));
      if (topics.length === 0) {
        const detail = `topics must name some of ${LIVE_TOPICS.join(", ")}, but is "${request.query.topics ?? ""}"`;
        return await sendProblem(reply, 400, "Bad Request", detail);
      }
      const stream = reply.raw;
      const seat = seats.take(request.asker.name);
      if (seat.isFull) return await sendProblem(reply, seat.status, seat.title, seat.detail);
      // Listens for a hang-up from the beginning, so that no stream begins after one.
      stream.once("close", seat.leave);
      await watch.begin();
      if (reply.sent) return reply;
      reply.hijack();
      if (stream.destroyed) return reply;
      stream.writeHead(200, { ...reply.getHeaders(), "content-type": "text/event-stream" } as Record<
        string,
        string
      >);
      const sendHeartbeat = () =>
        stream.write(`event: heartbeat\ndata: database ${watch.canRead() ? "readable" : "unreadable"}\n\n`);
      const onChanged = (changed: ReadonlySet<LiveTopic>) => {
        const reported = topics.filter((topic) => changed.has(topic));
        if (reported.length > 0) stream.write(`event: changed\ndata: ${reported.join(" ")}\n\n`);
      };
      const forget = watch.add({ onChanged, onReadable: sendHeartbeat });
      // No event reports what changed between the page's reading and this moment.
      const present = digestMarks(watch.marks(), topics);
      if (present === null || request.query.seen !== present) onChanged(new Set(topics));
      sendHeartbeat();
      const heartbeat = setInterval(sendHeartbeat, HEARTBEAT_MS);
      const end = setTimeout(() => stream.end(), LONGEST_STREAM_MS);
      stream.on("close", () => {
        forget();
        clearInterval(heartbeat);
        clearTimeout(end);
      });
      return reply;
    },
  );
}

type Seat =
  | { readonly isFull: false; leave(): void }
  | { readonly isFull: true; readonly status: number; readonly title: string; readonly detail: string };

/** Counts the open streams by the name of their token. */
function openSeats() {
  const ofToken = new Map<string, number>();
  let all = 0;
  const take = (name: string): Seat => {
    const own = ofToken.get(name) ?? 0;
    if (own >= MOST_OF_TOKEN) {
      const detail = `"${name}" has ${MOST_OF_TOKEN} pages open already: close some of them`;
      return { isFull: true, status: 429, title: "Too Many Requests", detail };
    }
    if (all >= MOST_STREAMS) {
      const detail = `${MOST_STREAMS} pages are open already: close some of them`;
      return { isFull: true, status: 503, title: "Service Unavailable", detail };
    }
    ofToken.set(name, own + 1);
    all += 1;
    const leave = () => {
      all -= 1;
      const left = (ofToken.get(name) ?? 1) - 1;
      if (left > 0) ofToken.set(name, left);
      else ofToken.delete(name);
    };
    return { isFull: false, leave };
  };
  return { take };
}
