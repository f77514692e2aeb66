/** Draws the channels, and the list of alerts. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { ChannelState, Delivery, ListedAlert } from "../../../alerts/alert-list-store.ts";
import { pageOf } from "../../../alerts/message.ts";
import type { Instant } from "../../../clock.ts";
import { nameItself, type Problem, renderProblem, renderSelect } from "../parts/fields.ts";
import { sayTime, sayWords, showAge, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

/** As typed. */
export interface AlertFilters {
  readonly state: string;
  readonly product: string;
}

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
${renderProblem(problem, ["state", "product"])}
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
  if (alerts.length === 0) return html`<p class="sheet">There is no such alert.</p>`;
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
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Alerts", caption: "In the order of their numbers, the highest first", of: "alerts", columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/alerts?${String(older)}">Older ones</a></p>`}</section>`;
}

/** The numbers of alerts and of incidents are different ones. */
function renderIncidentLink(alert: ListedAlert): SafeHtml | null {
  const path = pageOf(alert);
  const [, id] = path.match(/^\/incidents\/(\d+)$/) ?? [];
  return id === undefined ? null : html`<br><a href="${path}">incident #${id}</a>`;
}

/** The channels that were tried, and those of the settings that were not. */
function renderDeliveries(
  { deliveries, deliveredAt }: ListedAlert,
  channels: ShownAlerts["channels"],
  zone: string,
): SafeHtml {
  const untried =
    deliveredAt === null
      ? (channels ?? []).filter(({ channel }) => !deliveries.some((one) => one.channel === channel))
      : [];
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
