/** Draws a product's coverage as a strip of hours: by colour, by pattern and in words. Says what the code of a gap means. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { DateTime } from "luxon";
import { formatInstant, type Instant, localIso } from "../../../clock.ts";
import { type CoverageHour, NOT_FETCHED } from "../../../sync/coverage.ts";
import type { TimeRange } from "../../../window.ts";
import type { ErrorCode } from "../../../errors.ts";

type HourState = CoverageHour["state"];

const HOUR_MS = 3_600_000;
/** Up to this number of hours, a line separates each hour from the next. */
const MOST_SEPARATE_HOURS = 48;
const MOST_LABELS = 7;
/** Nearer to the end of the strip, a label has no room; as a share of the strip. */
const ROOM_OF_LABEL = 0.12;

const WORD_OF_STATE: Readonly<Record<HourState, string>> = {
  fetched: "fetched",
  fetching: "being fetched",
  gap: "gap",
  future: "not due yet",
};

/** Hours of one state, and of one reason, that follow each other within a day. */
interface HourRun extends TimeRange {
  readonly state: HourState;
  readonly code: string | null;
}

/** A link for each hour would mean hundreds of stops for keyboard users, so equal hours of a day are one link. */
function joinHours(hours: readonly CoverageHour[], zone: string): HourRun[] {
  const runs: HourRun[] = [];
  for (const { from, to, state, code } of hours) {
    const last = runs.at(-1);
    const isSame = last?.state === state && last.code === code && dateOf(last.from, zone) === dateOf(from, zone);
    if (isSame) runs.splice(-1, 1, { ...last, to });
    else runs.push({ from, to, state, code });
  }
  return runs;
}

/** @param hours of one product, in order and without a break; at least one */
export function renderCoverageStrip(
  productId: string,
  hours: readonly CoverageHour[],
  zone: string,
): SafeHtml {
  const from = hours[0]?.from ?? 0;
  const to = hours.at(-1)?.to ?? from + HOUR_MS;
  const at = (instant: Instant) => `${percent((instant - from) / (to - from))}%`;
  const runs = joinHours(hours, zone).map((run) => renderRun(productId, run, at, zone));
  const step = hours.length <= MOST_SEPARATE_HOURS ? 1 : 24;
  const lines = stepsOf({ from, to }, step, zone).map(
    (step) => html`<line class="edge" x1="${at(step)}" x2="${at(step)}" y1="0" y2="24"/>`,
  );
  return html`<svg class="strip" role="group" aria-label="Coverage of ${productId}, ${sayDay(from, zone)} to ${sayDay(to - 1, zone)}" width="100%" height="40">
${runs}${lines}${renderLabels({ from, to }, at, zone)}</svg>`;
}

function renderRun(
  productId: string,
  run: HourRun,
  at: (instant: Instant) => string,
  zone: string,
): SafeHtml {
  const width = `${percent(Number.parseFloat(at(run.to)) / 100 - Number.parseFloat(at(run.from)) / 100)}%`;
  const cell = html`<rect x="${at(run.from)}" y="0" width="${width}" height="24" class="cell ${run.state}" fill="url(#cell-${run.state})"/>`;
  if (run.state === "future") return cell;
  const words = describeRun(run, zone);
  return html`<a href="${linkToCoverage(productId, run)}" aria-label="${words}"><title>${words}</title>${cell}</a>`;
}

/** "Thu 20 Nov 2026, 10:00 to 12:00: gap, provider-timeout: the provider did not answer in time". */
function describeRun({ from, to, state, code }: HourRun, zone: string): string {
  const end = sayHour(to, zone);
  const until = end === "00:00" ? "24:00" : end;
  const why = state === "gap" ? `, ${code ?? "being tried again"}: ${explainGap(code)}` : "";
  return `${sayDay(from, zone)}, ${sayHour(from, zone)} to ${until}: ${WORD_OF_STATE[state]}${why}`;
}

export function linkToCoverage(productId: string, { from, to }: TimeRange): string {
  const range = { product: productId, from: formatInstant(from), to: formatInstant(to) };
  return `/coverage?${new URLSearchParams(range)}`;
}

function renderLabels(
  { from, to }: TimeRange,
  at: (instant: Instant) => string,
  zone: string,
): SafeHtml[] {
  const isDays = to - from > MOST_SEPARATE_HOURS * HOUR_MS;
  const step = isDays ? 24 : labelStep((to - from) / HOUR_MS);
  const starts = stepsOf({ from, to }, step, zone);
  return starts
    .filter((start) => (to - start) / (to - from) > ROOM_OF_LABEL)
    .map(
      (start) =>
        html`<text x="${at(start)}" y="37" aria-hidden="true">${isDays ? sayShortDay(start, zone) : sayHour(start, zone)}</text>`,
    );
}

/** The hours between two labels, so that each label has room. */
function labelStep(hours: number): number {
  return [1, 2, 3, 6, 12].find((step) => hours / step <= MOST_LABELS) ?? 24;
}

/** The times inside of a range at which the zone's clocks show a multiple of some hours of the day. */
function stepsOf({ from, to }: TimeRange, hours: number, zone: string): Instant[] {
  const steps: Instant[] = [];
  for (let day = DateTime.fromMillis(from, { zone }).startOf("day"); day.toMillis() < to; day = day.plus({ days: 1 })) {
    for (let hour = 0; hour < 24; hour += hours) {
      const step = day.set({ hour }).toMillis();
      if (step > from && step < to) steps.push(step);
    }
  }
  return steps;
}

/** The patterns of the strips, once for each page. They distinguish the states without colours. */
export function renderPatterns(): SafeHtml {
  const pattern = (state: HourState, mark: SafeHtml) =>
    html`<pattern id="cell-${state}" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="ground ${state}"/>${mark}</pattern>`;
  return html`<svg class="patterns" width="0" height="0" aria-hidden="true" focusable="false"><defs>
${pattern("fetched", html``)}
${pattern("fetching", html`<path d="M-1 7 7 -1M-1 1 1 -1M5 7 7 5" class="mark fetching"/>`)}
${pattern("gap", html`<path d="M0 0 6 6M6 0 0 6" class="mark gap"/>`)}
${pattern("future", html`<circle cx="3" cy="3" r="0.8" class="dot"/>`)}
</defs></svg>`;
}

export function renderLegend(): SafeHtml {
  const entries = (Object.entries(WORD_OF_STATE) as [HourState, string][]).map(
    ([state, word]) =>
      html`<li><svg width="18" height="12" aria-hidden="true" focusable="false"><rect width="18" height="12" class="cell ${state}" fill="url(#cell-${state})"/></svg>${word}</li>`,
  );
  return html`<ul class="legend" aria-label="Legend of the coverage">${entries}</ul>`;
}

function percent(part: number): number {
  return Math.round(part * 10_000) / 100;
}

function sayHour(instant: Instant, zone: string): string {
  return localIso(instant, zone).slice(11, 16);
}

function dateOf(instant: Instant, zone: string): string {
  return localIso(instant, zone).slice(0, 10);
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

function sayShortDay(instant: Instant, zone: string): string {
  const date = new Date(`${localIso(instant, zone)}Z`);
  return `${DAYS[date.getUTCDay()]} ${date.getUTCDate()}`;
}

function sayDay(instant: Instant, zone: string): string {
  const date = new Date(`${localIso(instant, zone)}Z`);
  return `${sayShortDay(instant, zone)} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

const MEANINGS: Partial<Readonly<Record<ErrorCode | typeof NOT_FETCHED, string>>> = {
  [NOT_FETCHED]: "not fetched yet, or a worker is fetching it",
  "provider-timeout": "the provider did not answer in time, not even for the shortest window",
  "provider-drip": "the provider's answer did not end in time",
  "provider-http-408": "the provider reported a time-out (408)",
  "provider-http-504": "a gateway before the provider reported a time-out (504)",
  "provider-http-524": "a gateway before the provider reported a time-out (524)",
  "provider-dropped": "the connection was dropped before the answer",
  "provider-cut-short": "the answer broke off",
  "provider-throttled": "the provider limited the requests (429)",
  "provider-server-error": "the provider failed (5xx)",
  "provider-unreachable": "nothing listens at the provider's address",
  "provider-refused": "the provider refuses the credentials",
  "provider-bad-status": "the provider answered with an unexpected status",
  "provider-rejected": "the provider refused the request: its code was not 0",
  "provider-not-json": "the answer was not JSON",
  "provider-bad-envelope": "the JSON of the answer differed from the interface",
  "provider-too-large": "the answer was larger than 16 MB",
  "cursor-loop": "the provider's pages formed a loop",
  "cursor-expired": "the provider's cursor was too old",
  "page-limit": "the provider's pages did not end",
};

/**
 * @param code of a gap (`not-fetched`, or an error code); null: a new attempt is under way, and the last error is
 * forgotten
 */
export function explainGap(code: string | null): string {
  if (code === null) return "this time could not be fetched, and a new attempt is under way";
  return (MEANINGS as Readonly<Record<string, string>>)[code] ?? "this time could not be fetched";
}
