/** `/health`: the progress of each kind of work, what holds it up, and what to do (docs/alerts.md#work-that-has-stopped). */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance } from "fastify";
import { showBytes } from "../../../bytes.ts";
import { type Instant, showDuration } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { type Health, readHealth } from "../../../flows/read/read-health.ts";
import { endsInTime } from "../../../in-time.ts";
import {
  isFull,
  largeTables,
  type Storage,
  sayAllDue,
  sayDisk,
  sayDue,
  sayGrowth,
} from "../../../storage.ts";
import type { QueueState } from "../../metrics/state-gauges.ts";
import type { Tone } from "../overview/health-verdict.ts";
import { takeNotice } from "../parts/notice.ts";
import type { OwnWorker } from "../parts/own-worker.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayWords, showAge, showCount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { zoneOf } from "../parts/zone.ts";
import { describeWork, type WorkRow } from "./work-rows.ts";

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

interface ShownHealth {
  readonly health: Health;
  readonly rows: readonly WorkRow[];
  /** null: unknown, because the queues do not answer */
  readonly jobs: readonly QueueState[] | null;
  /** whether the queues have a page of their own */
  readonly hasBoard: boolean;
}

function renderHealth({ health, rows, jobs, hasBoard }: ShownHealth, when: When): SafeHtml {
  return html`<h1>Health</h1>
${renderTiles(health, when)}
<section class="sheet" aria-labelledby="work"><h2 id="work">Work</h2>
${renderTable({ name: "Work", columns: WORK_COLUMNS, rows: rows.map((row) => renderWork(row, when)) })}</section>
${renderQueues(health, jobs, hasBoard, when)}
${renderDatabase(health, when)}`;
}

const WORD_OF_TONE: Readonly<Record<Tone, string>> = {
  good: "works",
  warn: "late",
  bad: "held up",
  unknown: "unknown",
};

const WORK_COLUMNS: readonly Column[] = [
  { name: "work", as: "head" },
  { name: "state" },
  { name: "last done" },
  { name: "behind", as: "text" },
  { name: "what holds it up", as: "text", of: "long" },
];
/** Many products can have the same trouble. */
const MOST_HELD_UP = 5;

function renderWork({ name, tone, doneAt, behind, heldUp, href }: WorkRow, { now, zone }: When) {
  const state =
    tone === null
      ? html`<span class="faint">not used</span>`
      : html`<span class="state" data-tone="${tone}">${WORD_OF_TONE[tone]}</span>`;
  const never = tone === null ? html`<span class="none">–</span>` : "unknown";
  const shown = heldUp
    .slice(0, MOST_HELD_UP)
    .map(
      ({ what, remedy }) =>
        html`<p>${sayWords(what, zone)}${remedy === null ? null : html` <span class="faint">${sayWords(remedy, zone)}</span>`}</p>`,
    );
  const others = heldUp.length - shown.length;
  return {
    cells: [
      href === null ? name : html`<a href="${href}">${name}</a>`,
      state,
      doneAt === null ? never : showAge(doneAt, now, zone),
      behind ?? html`<span class="none">–</span>`,
      html`${shown.length === 0 ? html`<span class="faint">${tone === "unknown" ? "It has not been done yet." : "nothing"}</span>` : shown}${others > 0 ? html`<p>and ${showCount(others)} more</p>` : null}`,
    ],
  };
}

function renderTiles(
  { undelivered, rejected, lastReceivedAt, emptied, work }: Health,
  { now, zone }: When,
): SafeHtml {
  const { records, entries, hasMore } = rejected;
  return html`<dl class="tiles">
<div class="sheet"><dt>Alerts undelivered</dt><dd class="much">${showCount(undelivered)}</dd><dd><a href="/alerts">All alerts</a></dd></div>
<div class="sheet"><dt>Rejected</dt><dd><a href="/rejected?side=record"><b>${showCount(records)}</b> ${records === 1 ? "record" : "records"}</a></dd>
<dd><a href="/rejected?side=entry"><b>${hasMore ? "over " : ""}${showCount(entries)}</b> ${entries === 1 ? "entry" : "entries"}</a></dd></div>
<div class="sheet"><dt>Newest ledger entry</dt><dd class="much">${emptied > 0 ? "none left" : lastReceivedAt === null ? "none yet" : showAge(lastReceivedAt, now, zone)}</dd><dd><a href="/imports">Ledger imports</a></dd></div>
<div class="sheet"><dt>Days of disk</dt><dd class="much">${sayDays(work.storage)}</dd><dd><a href="#database">The database</a></dd></div>
</dl>`;
}

function sayDays(storage: Storage | null): string {
  if (storage === null) return "unknown";
  const { daysLeft, diskBytes, bytesPerDay } = storage;
  if (isFull(storage)) return "0";
  if (daysLeft !== null) return showCount(daysLeft);
  return diskBytes !== null && bytesPerDay !== null ? "does not grow" : "unknown";
}

const QUEUE_COLUMNS: readonly Column[] = [
  { name: "queue", as: "head" },
  { name: "every" },
  { name: "last job" },
  { name: "waiting", as: "number" },
  { name: "active", as: "number" },
  { name: "failed", as: "number" },
];

function renderQueues(
  { states }: Health,
  jobs: ShownHealth["jobs"],
  hasBoard: boolean,
  { now, zone }: When,
): SafeHtml {
  const rows = states
    .filter(({ work }) => work === "queue")
    .map(({ subject, everyMs, doneAt }) => {
      const counts = jobs?.find(({ queue }) => queue === subject)?.jobs ?? null;
      const count = (...names: string[]) =>
        counts === null
          ? "unknown"
          : showCount(names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0));
      return {
        cells: [
          subject,
          everyMs === null ? "unknown" : showDuration(everyMs),
          doneAt === null ? "none yet" : showAge(doneAt, now, zone),
          count("waiting", "prioritized"),
          count("active"),
          count("failed"),
        ],
      };
    });
  const board = hasBoard ? html`<p><a href="/queues">All jobs</a></p>` : null;
  return html`<section class="sheet" aria-labelledby="queues"><h2 id="queues">Queues</h2>
${rows.length === 0 ? html`<p>Unknown: no worker has served a queue yet.</p>` : renderTable({ name: "Queues", columns: QUEUE_COLUMNS, rows })}
${board}</section>`;
}

const TABLE_COLUMNS: readonly Column[] = [
  { name: "table", as: "head" },
  { name: "size with indexes", as: "number" },
  { name: "due for deletion", as: "number" },
];

function renderDatabase({ work: { storage }, findings }: Health, { now, zone }: When): SafeHtml {
  if (storage === null) {
    return html`<section class="sheet" aria-labelledby="database"><h2 id="database">Database</h2><p>Its size is unknown: no worker has measured yet.</p></section>`;
  }
  const { large, otherBytes } = largeTables(storage);
  const rows = [...large, { table: "all others", bytes: otherBytes, due: null }].map(
    ({ table, bytes, due }) => ({
      cells: [table, showBytes(bytes), due === null ? html`<span class="none">–</span>` : sayDue(due)],
    }),
  );
  return html`<section class="sheet" aria-labelledby="database"><h2 id="database">Database</h2>
<p><strong>${showBytes(storage.bytes)}</strong>, ${sayGrowth(storage)}; <span class="${findings.some(({ kind }) => kind === "disk-full") ? "bad" : ""}">${sayDisk(storage)}</span>; ${sayAllDue(storage)}. <span class="faint">Measured ${showAge(storage.measuredAt, now, zone)}.</span></p>
${renderTable({ name: "Tables", columns: TABLE_COLUMNS, rows })}</section>`;
}

/** The page is the place to look while the queues do not answer. */
const LONGEST_COUNT_MS = 2_000;

export function addHealthPage(
  pages: FastifyInstance,
  context: FlowContext,
  worker: OwnWorker | null,
  hasBoard: boolean,
): void {
  pages.get("/health", async (request, reply) => {
    const [health, jobs] = await Promise.all([readHealth(context), countJobs(worker)]);
    const rows = describeWork(health, context.config, worker);
    const when = { now: health.now, zone: zoneOf(request) };
    return await sendPage(request, reply, {
      title: "Health",
      path: "/health",
      main: renderHealth({ health, rows, jobs, hasBoard }, when),
      notice: takeNotice(request, reply),
      live: ["pull", "alerts", "rejected"],
    });
  });
}

/** @returns null if the queues do not answer in time */
async function countJobs(worker: OwnWorker | null): Promise<ShownHealth["jobs"]> {
  if (worker === null) return null;
  const counting = worker.countJobs().catch(() => null);
  return (await endsInTime(counting, LONGEST_COUNT_MS)) ? await counting : null;
}
