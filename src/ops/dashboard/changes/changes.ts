/** Notifies open pages of changed topics (`GET /changes`, server-sent events). */

import { setInterval } from "node:timers";
import type { FastifyInstance } from "fastify";
import { type Instant, systemClock } from "../../../clock.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { sendProblem, wantsPage } from "../../http/problem.ts";
import { readChangeMarks } from "./change-store.ts";
import { digestMarks, findChanged, type KnownMarks, LIVE_TOPICS, type Marks } from "./what-changed.ts";

const CHECK_EVERY_MS = 1_000;

/** A check takes milliseconds. After this, the database counts as unreadable. */
const LONGEST_CHECK_MS = 10_000;

/** A page does without marks that take longer: it then refreshes once more. */
const LONGEST_WAIT_MS = 500;

interface Listener {
  onChanged(changed: ReadonlySet<LiveTopic>): void;
  /** The database can be read again, or no longer. */
  onReadable(): void;
}

/** Checks for changes while there are listeners. What the last check found stays known afterwards. */
function watchChanges({ sql, clock, log }: FlowContext) {
  const listeners = new Set<Listener>();
  let known: KnownMarks | null = null;
  let knownAt: Instant = 0;
  let looking: { readonly ended: Promise<void>; readonly since: Instant } | null = null;
  let isFailing = false;
  let wasReadable = true;
  const checkOnce = async () => {
    try {
      const wasBlind = known === null && isFailing;
      const marks = await readChangeMarks(sql, clock.now());
      // The interval uses real time.
      knownAt = systemClock.now();
      const found = findChanged(known, marks, knownAt);
      known = found.known;
      isFailing = false;
      const changed = wasBlind ? new Set(LIVE_TOPICS) : found.changed;
      if (changed.size > 0) for (const { onChanged } of listeners) onChanged(changed);
    } catch (error) {
      // Pages stay open and get changes again when the database is back.
      if (!isFailing) log.warn(`open pages cannot be notified of changes: ${describeError(error)}`);
      isFailing = true;
    }
  };
  const check = () => {
    looking ??= {
      ended: checkOnce().finally(() => {
        looking = null;
        reportReadable();
      }),
      since: systemClock.now(),
    };
    return looking.ended;
  };
  const lookedFor = () => (looking === null ? 0 : systemClock.now() - looking.since);
  // A frozen database fails no check: the check does not end.
  const canRead = () => !isFailing && lookedFor() < LONGEST_CHECK_MS;
  const reportReadable = () => {
    if (canRead() === wasReadable) return;
    wasReadable = canRead();
    for (const { onReadable } of listeners) onReadable();
  };
  let timer: NodeJS.Timeout | null = null;
  const rest = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  // Each later change is found by the timer's next check.
  const isKnown = () => known !== null && (timer !== null || systemClock.now() - knownAt < CHECK_EVERY_MS);
  return {
    end: rest,
    /** Whether the last check read the database, and the present one is not overdue. */
    canRead,
    /** Resolves when the baseline is read: listeners that are added afterwards get every later change. */
    begin: async () => {
      if (!isKnown()) await check();
    },
    /**
     * Marks that hold no change that a reading begun afterwards could lack. They may lack changes.
     * @returns null: the database has not answered yet
     */
    readMarks: async (): Promise<Marks | null> => {
      // A check that is overdue delays no further page.
      if (!isKnown() && lookedFor() < LONGEST_WAIT_MS) {
        const limit = new AbortController();
        await Promise.race([check(), systemClock.sleep(LONGEST_WAIT_MS, limit.signal)]);
        limit.abort();
      }
      return known?.marks ?? null;
    },
    /** The marks after which listeners get every change; null: not known */
    marks: (): Marks | null => known?.marks ?? null,
    add(listener: Listener): () => void {
      listeners.add(listener);
      timer ??= setInterval(() => {
        void check();
        reportReadable();
      }, CHECK_EVERY_MS);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) rest();
      };
    },
  };
}

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
