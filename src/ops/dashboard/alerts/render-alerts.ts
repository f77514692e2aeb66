/** Draws the channels, and the list of alerts. */

import { html, type SafeHtml } from "@remix-run/html-template";
import {
  type ChannelState,
  type Delivery,
  getsAlert,
  type ListedAlert,
} from "../../../alerts/alert-list-store.ts";
import { pageOf } from "../../../alerts/message.ts";
import type { Instant } from "../../../clock.ts";
import { nameItself, type Problem, renderProblem, renderSelect, type TypedFields } from "../parts/fields.ts";
import { sayTime, sayWords, showAge, showAgo, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

interface Reader {
  /** the channels of the settings */
  readonly states: readonly ChannelState[];
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  readonly zone: string;
  readonly now: Instant;
}

export function renderAlert(alert: ListedAlert, reader: Reader): SafeHtml {
  const { id, kind, productId, body, at, deliveredAt, idempotencyKey } = alert;
  const { now, zone } = reader;
  const toDo = typeof body["toDo"] === "string" ? body["toDo"] : null;
  const state =
    deliveredAt === null
      ? html`At least one channel has not received it.`
      : html`Every channel had received it by ${showTime(deliveredAt, zone)}.`;
  return html`<p class="trail"><a href="/alerts">Alerts</a> <span aria-hidden="true">›</span> ${id}</p>
<h1>${kind} <span class="faint">alert #${id}</span></h1>
<section class="sheet" aria-label="What it says"><p class="reason">${sayWords(body.what, zone)}</p>
${toDo === null ? null : html`<p>${sayWords(toDo, zone)}</p>`}
<p>Written ${showTime(at, zone)} ${showAgo(at, now, zone)}${productId === null ? null : html`, about <strong>${productId}</strong>`}. ${state}</p>
<p><a href="${pageOf(alert)}">${nameOfPage(pageOf(alert))}</a></p></section>
${renderAttempts(alert, reader)}
<details class="sheet"><summary>As it is sent</summary><p class="faint wrap">idempotency key ${idempotencyKey}</p>
<pre class="raw whole" tabindex="0" role="group" aria-label="Body of alert ${id}">${JSON.stringify(body, null, 2)}</pre></details>`;
}

function nameOfPage(path: string): string {
  if (path.startsWith("/incidents/")) return `Incident ${path.slice("/incidents/".length)}`;
  if (path.startsWith("/rejected")) return "Rejected";
  if (path.startsWith("/mismatches/")) return `Mismatch ${path.slice("/mismatches/".length)}`;
  return path === "/mismatches" ? "Mismatches" : "Health";
}

const DELIVERY_COLUMNS: readonly Column[] = [
  { name: "channel", as: "head" },
  { name: "attempts", as: "number" },
  { name: "delivered" },
  { name: "last error", as: "text" },
  { name: "next attempt" },
];

/** A channel of the settings that was not tried yet, and one that was tried and has left the settings, are shown too. */
function renderAttempts(alert: ListedAlert, { states, mayAct, zone }: Reader): SafeHtml {
  const untried = states
    .filter(
      (one) => getsAlert(one, alert) && !alert.deliveries.some(({ channel }) => channel === one.channel),
    )
    .map(({ channel }) => ({
      channel,
      attempts: 0,
      deliveredAt: null,
      nextAttemptAt: null,
      lastError: null,
    }));
  const all: readonly Delivery[] = [...alert.deliveries, ...untried];
  const isSet = (channel: string) => states.some((one) => one.channel === channel);
  const head = html`<h2 id="deliveries">Deliveries</h2>`;
  if (all.length === 0)
    return html`<section class="sheet" aria-labelledby="deliveries">${head}<p>It was not sent: no channel is set.</p></section>`;
  const columns = mayAct ? [...DELIVERY_COLUMNS, { name: "again" }] : DELIVERY_COLUMNS;
  const rows = all.map((one) => ({
    cells: [
      one.channel,
      showCount(one.attempts),
      one.deliveredAt === null ? "not yet" : showTime(one.deliveredAt, zone),
      one.lastError,
      one.deliveredAt === null ? renderNext(one, states, zone) : html`<span class="none">–</span>`,
      ...(mayAct ? [isSet(one.channel) ? renderAgain(alert.id, one) : null] : []),
    ],
  }));
  const note = html`<p class="faint">An alert that is sent again keeps its idempotency key, so the webhook's receiver can drop it if it has seen it. Slack shows it once more.</p>`;
  return html`<section class="sheet" aria-labelledby="deliveries">${head}
${renderTable({ name: "Deliveries", columns, rows })}${mayAct ? note : null}</section>`;
}

function renderNext(
  { channel, nextAttemptAt }: Delivery,
  states: readonly ChannelState[],
  zone: string,
): SafeHtml | string {
  const state = states.find((one) => one.channel === channel);
  if (state === undefined) return "none: the channel is not set";
  const at = nextAttemptAt ?? state.nextAttemptAt;
  return at === null ? "at the next run" : showTime(at, zone);
}

function renderAgain(id: number, { channel, attempts, deliveredAt }: Delivery): SafeHtml {
  const name = deliveredAt === null ? "Send now" : "Send again";
  return html`<form method="post" action="/alerts/${id}/send"><input type="hidden" name="channel" value="${channel}"><input type="hidden" name="attempts" value="${attempts}"><button class="quiet" aria-label="${name}: ${channel}">${name}</button></form>`;
}

/** The fields of the form. */
export const FILTERS = ["state", "product"] as const;
type AlertFilters = TypedFields<typeof FILTERS>;

interface ShownAlerts {
  readonly products: readonly string[];
  /** null: this server does not know which channels are set */
  readonly channels: readonly ChannelState[] | null;
  readonly mayAct: boolean;
  /** null: the filters have an error */
  readonly list: { readonly alerts: readonly ListedAlert[]; readonly next: number | null } | null;
  readonly problem: Problem | null;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderAlerts(
  { state, product }: AlertFilters,
  { products, channels, mayAct, list, problem }: ShownAlerts,
  when: When,
): SafeHtml {
  return html`<p class="trail"><a href="/health">Health</a> <span aria-hidden="true">›</span> Alerts</p>
<h1>Alerts</h1>
${renderChannels(channels, mayAct, when)}
<form method="get" action="/alerts" class="sheet fields" aria-label="Filters">
${renderSelect({ label: "State", name: "state", value: state, problem }, [
  ["all", "all"],
  ["waiting", "undelivered"],
  ["delivered", "delivered"],
])}
${renderSelect({ label: "Product", name: "product", value: product, problem }, [["", "all"], ...products.map(nameItself)])}
<button>Filter</button>
</form>
${renderProblem(problem, FILTERS)}
${list === null ? null : renderList({ state, product }, list, channels, when)}`;
}

const CHANNEL_COLUMNS: readonly Column[] = [
  { name: "channel", as: "head" },
  { name: "undelivered", as: "number" },
  { name: "last delivered" },
  { name: "failing since" },
  { name: "next attempt" },
  { name: "last error", as: "text" },
];

function renderChannels(channels: ShownAlerts["channels"], mayAct: boolean, { now, zone }: When): SafeHtml {
  const head = html`<h2 id="channels">Channels</h2>`;
  if (channels === null)
    return html`<section class="sheet" aria-labelledby="channels">${head}<p>Unknown: this server runs without a worker.</p></section>`;
  if (channels.length === 0)
    return html`<section class="sheet" aria-labelledby="channels">${head}<p>No channel is set, so no alert is sent: set <code>ALERT_WEBHOOK_URL</code> with <code>ALERT_WEBHOOK_SECRET</code>, or <code>ALERT_SLACK_URL</code>. Alerts wait until then.</p></section>`;
  const rows = channels.map(
    ({ channel, waiting, deliveredAt, failingSince, nextAttemptAt, lastError, attempts }) => ({
      cells: [
        channel,
        showCount(waiting),
        deliveredAt === null ? "never yet" : showAge(deliveredAt, now, zone),
        failingSince === null
          ? html`<span class="faint">it works</span>`
          : html`${showTime(failingSince, zone)} <span class="faint">${sayAttempts(attempts)}</span>`,
        showTime(nextAttemptAt, zone),
        lastError,
      ],
    }),
  );
  const test = html`<form method="post" action="/alerts/test"><p class="row"><button>Send a test</button> <span class="faint">One alert of each kind, marked as a test, to every channel.</span></p></form>`;
  return html`<section class="sheet" aria-labelledby="channels">${head}
${renderTable({ name: "Channels", columns: CHANNEL_COLUMNS, rows })}${mayAct ? test : null}</section>`;
}

const COLUMNS: readonly Column[] = [
  { name: "alert", of: "kind" },
  { name: "written" },
  { name: "what it says", as: "text", of: "long" },
  { name: "product", as: "text" },
  { name: "deliveries", as: "text" },
];

function renderList(
  { state, product }: AlertFilters,
  { alerts, next }: NonNullable<ShownAlerts["list"]>,
  channels: ShownAlerts["channels"],
  { now, zone }: When,
): SafeHtml {
  if (alerts.length === 0) return html`<p class="sheet">No alert matches the filters.</p>`;
  const rows = alerts.map((alert) => ({
    id: `alert-${alert.id}`,
    cells: [
      html`<a href="/alerts/${alert.id}">${alert.kind}</a> <span class="faint">alert #${alert.id}</span>${renderIncidentLink(alert)}`,
      showAge(alert.at, now, zone),
      sayWords(alert.body.what, zone),
      alert.productId ?? html`<span class="none">–</span>`,
      renderDeliveries(alert, channels, zone),
    ],
  }));
  const older = new URLSearchParams({ state, ...(product === "" ? {} : { product }), after: String(next) });
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Alerts", caption: "The highest number first", of: "alerts", columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/alerts?${String(older)}">Older ones</a></p>`}</section>`;
}

/** The numbers of alerts and of incidents are different ones. */
function renderIncidentLink(alert: ListedAlert): SafeHtml | null {
  const path = pageOf(alert);
  const [, id] = path.match(/^\/incidents\/(\d+)$/) ?? [];
  return id === undefined ? null : html`<br><a href="${path}">incident #${id}</a>`;
}

/** The channels that were tried, and those of the settings that were not. */
function renderDeliveries(alert: ListedAlert, channels: ShownAlerts["channels"], zone: string): SafeHtml {
  const { deliveries, deliveredAt } = alert;
  const isUntried = (state: ChannelState) =>
    getsAlert(state, alert) && !deliveries.some(({ channel }) => channel === state.channel);
  const untried = deliveredAt === null ? (channels ?? []).filter(isUntried) : [];
  const lines = [
    ...deliveries.map((one) => `${one.channel}: ${sayDelivery(one, zone)}`),
    ...untried.map(({ channel }) => `${channel}: not sent yet`),
  ];
  const unsent = channels?.length === 0 ? "not sent: no channel is set" : "not sent yet";
  if (lines.length === 0) return html`<span class="faint">${unsent}</span>`;
  return html`${lines.map((line, index) => html`${index === 0 ? null : html`<br>`}${line}`)}`;
}

function sayDelivery({ deliveredAt, attempts, lastError }: Delivery, zone: string): string {
  if (deliveredAt !== null) return `delivered ${sayTime(deliveredAt, zone)}`;
  return `waits, ${sayAttempts(attempts)}${lastError === null ? "" : `: ${lastError}`}`;
}

function sayAttempts(attempts: number): string {
  return `${showCount(attempts)} ${attempts === 1 ? "attempt" : "attempts"}`;
}
