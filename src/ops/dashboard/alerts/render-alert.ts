/** Draws one alert: what it says, its deliveries, and the form that sends it again. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { ChannelState, Delivery, ListedAlert } from "../../../alerts/alert-list-store.ts";
import { pageOf } from "../../../alerts/message.ts";
import type { Instant } from "../../../clock.ts";
import { sayWords, showAgo, showCount, showTime } from "../parts/show.ts";
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
      ? html`Some channel has not received it.`
      : html`Every channel had received it by ${showTime(deliveredAt, zone)}.`;
  return html`<p class="trail"><a href="/alerts">Alerts</a> <span aria-hidden="true">›</span> ${id}</p>
<h1>${kind} <span class="faint">alert #${id}</span></h1>
<section class="sheet" aria-label="What it says"><p class="reason">${sayWords(body.what, zone)}</p>
${toDo === null ? null : html`<p>${sayWords(toDo, zone)}</p>`}
<p>Written ${showTime(at, zone)} ${showAgo(at, now, zone)}${productId === null ? null : html`, about <strong>${productId}</strong>`}. ${state}</p>
<p><a href="${pageOf(alert)}">${nameOfPage(pageOf(alert))}</a></p></section>
${renderDeliveries(alert, reader)}
<details class="sheet"><summary>As it is sent</summary><p class="faint wrap">idempotency key ${idempotencyKey}</p>
<pre class="raw whole" tabindex="0" role="group" aria-label="Body of alert ${id}">${JSON.stringify(body, null, 2)}</pre></details>`;
}

function nameOfPage(path: string): string {
  if (path.startsWith("/incidents/")) return `Incident ${path.slice("/incidents/".length)}`;
  if (path.startsWith("/rejected")) return "The rejected ones";
  return path === "/mismatches" ? "Mismatches" : "Health";
}

const COLUMNS: readonly Column[] = [
  { name: "channel", as: "head" },
  { name: "attempts", as: "number" },
  { name: "delivered" },
  { name: "last error", as: "text" },
  { name: "next attempt" },
];

/** A channel of the settings that was not tried yet, and one that was tried and has left the settings, are shown too. */
function renderDeliveries(alert: ListedAlert, { states, mayAct, zone }: Reader): SafeHtml {
  const untried = states
    .filter(({ channel }) => !alert.deliveries.some((one) => one.channel === channel))
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
  const columns = mayAct ? [...COLUMNS, { name: "again" }] : COLUMNS;
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
  const note = html`<p class="faint">An alert that is sent again has the same idempotency key, by which the webhook's receiver drops what it has seen. Slack shows it once more.</p>`;
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
