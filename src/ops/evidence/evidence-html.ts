/** The evidence as one HTML file: a head, a table of contents, and a page or more for each mismatch. All times are UTC. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { sayEffect } from "../../advice.ts";
import { MEANING_OF_KIND } from "../../alerts/kind-meanings.ts";
import type { MismatchEvidence } from "../../flows/read/mismatch-evidence.ts";
import type { Evidence } from "../../flows/read/read-evidence.ts";
import { groupThousands, sayAmount, sayAmountsWithin } from "../../money.ts";
import { showTurningMarks } from "../http/layout.ts";

type Cell = SafeHtml | string | null;

interface PlainTable {
  readonly caption?: string;
  readonly columns: readonly string[];
  /** the columns that are aligned to the right */
  readonly numbers?: readonly string[];
  readonly rows: readonly { readonly cells: readonly Cell[]; readonly of?: string | null }[];
}

function renderPlainTable({ caption, columns, numbers = [], rows }: PlainTable): SafeHtml {
  const classOf = (index: number) => (numbers.includes(columns[index] ?? "") ? html` class="number"` : null);
  const head = columns.map((name, index) => html`<th scope="col"${classOf(index)}>${name}</th>`);
  const body = rows.map(
    ({ cells, of }) =>
      html`<tr${of == null ? null : html` class="${of}"`}>${cells.map((cell, index) => html`<td${classOf(index)}>${cell ?? "–"}</td>`)}</tr>
`,
  );
  return html`<div class="wide"><table>${caption === undefined ? null : html`<caption>${caption}</caption>`}
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

/** "2026-11-20 11:55:00.123 UTC", with all its digits. @param at ISO 8601 in UTC */
function sayUtc(at: string): string {
  return at.replace("T", " ").replace(/(\.000)?Z$/, " UTC");
}

const say = (amount: string | null) => (amount === null ? null : sayAmount(amount, null));

function renderEntries({ entries, bodies }: MismatchEvidence): SafeHtml {
  if (entries.length === 0) {
    return html`<h3>Callbacks</h3><p>The operator has answered no callback about it with success.</p>`;
  }
  const shown = new Set(bodies.map(({ id }) => id));
  const rows = entries.map((one) => ({
    cells: [
      html`${sayUtc(one.receivedAt)}<br><span class="faint">sent ${sayUtc(one.occurredAt)}</span>`,
      html`${one.callback} ${one.status}${one.transactionType === "BY_ROUND" ? " BY_ROUND" : ""}`,
      html`${one.requestId}${one.bodyId !== null && shown.has(one.bodyId) ? html`<br><span class="faint">body ${one.bodyId} below</span>` : null}`,
      html`${one.txnId}${one.roundId === null ? null : html`<br><span class="faint">round ${one.roundId}</span>`}<br><span class="faint">player ${one.username}</span>`,
      say(one.betAmount),
      say(one.payoutAmount),
      one.moved === null ? "as asked" : say(one.moved),
      sayBalances(one),
    ],
  }));
  const columns = ["Received", "Callback", "Request", "Transaction", "Bet", "Payout", "Moved", "Balance"];
  const caption = "Every callback that the operator answered with success, in the order of time";
  return html`<h3>Callbacks</h3>${renderPlainTable({ caption, columns, numbers: ["Bet", "Payout", "Moved", "Balance"], rows })}`;
}

function sayBalances({ balanceBefore, balanceAfter }: MismatchEvidence["entries"][number]): string {
  if (balanceBefore === null && balanceAfter === null) return "not known";
  return `${say(balanceBefore) ?? "not known"} → ${say(balanceAfter) ?? "not known"}`;
}

function renderRecords({ records, transactionRef }: MismatchEvidence): SafeHtml | null {
  if (transactionRef !== null) return null;
  if (records.length === 0) {
    return html`<h3>The provider's record</h3><p>No fetch of betTransactionsV2 has returned a record of it that is still stored.</p>`;
  }
  const rows = records.map(({ record, extra, isExtraLeftOut, firstSeenAt, requestedAt, replacedAt }) => ({
    cells: [
      html`${sayUtc(firstSeenAt)}<br><span class="faint">asked at ${sayUtc(requestedAt)}</span>${replacedAt === null ? null : html`<br>replaced at ${sayUtc(replacedAt)}`}`,
      html`${record["id"]}<br><span class="faint">betId ${record["betId"]}, roundId ${record["roundId"]}, username ${record["username"]}</span>`,
      html`${record["betStatus"]} ${record["payoutStatus"]}`,
      say(record["stake"] ?? null),
      say(record["payout"] ?? null),
      record["currency"] ?? null,
      html`<span class="faint">accountingDate</span> ${sayUtc(record["accountingDate"] ?? "")}<br><span class="faint">updatedDate</span> ${sayUtc(record["updatedDate"] ?? "")}`,
      html`${record["gameName"]} <span class="faint">${record["gameCode"]}</span>${extra === null ? null : html`<br>${extra}`}${isExtraLeftOut ? html`<br>(its other fields are too long to be shown)` : null}`,
    ],
  }));
  const columns = [
    "First returned",
    "Record",
    "Status",
    "Stake",
    "Payout",
    "Currency",
    "Dates",
    "Game, other fields",
  ];
  const caption = "Every version of the record, as betTransactionsV2 returned it, the oldest first";
  return html`<h3>The provider's record</h3>${renderPlainTable({ caption, columns, numbers: ["Stake", "Payout"], rows })}`;
}

function renderFetches({ fetches }: MismatchEvidence): SafeHtml | null {
  if (fetches.length === 0) return null;
  const rows = fetches.map(({ from, to, startedAt, fetchedAt, records }) => ({
    cells: [sayUtc(from), sayUtc(to), sayUtc(startedAt), sayUtc(fetchedAt), String(records)],
  }));
  const columns = ["startTime", "endTime", "Asked", "Answered", "Records"];
  const caption =
    "Requests of this time to betTransactionsV2 that were answered to their last page, the latest first";
  return html`<h3>Fetches of this time</h3>${renderPlainTable({ caption, columns, numbers: ["Records"], rows })}`;
}

function renderBodies({ bodies }: MismatchEvidence): SafeHtml | null {
  if (bodies.length === 0) return null;
  const blocks = bodies.map(({ id, callback, requestId, statusCode, body, receivedAt }) => {
    const answer = statusCode === 0 ? "answered with success" : `refused with statusCode ${statusCode}`;
    return html`<p>Body ${id}: <strong>${callback}</strong>, request ${requestId ?? "without a readable id"}, received at ${sayUtc(receivedAt)}, ${answer}</p>
<pre>${body}</pre>`;
  });
  return html`<h3>Request bodies</h3><p class="faint">As they came. Only session tokens are removed.</p>${blocks}`;
}

function renderTransfer({ transfer }: MismatchEvidence): SafeHtml | null {
  if (transfer === null) return null;
  const { type, amount, currency, status, sentAt, handedAt, rejectedAt, answers } = transfer;
  const rows = answers.map((one) => ({
    cells: [
      String(one.attempt),
      sayUtc(one.askedAt),
      one.says,
      [one.code, one.message].filter((part) => part !== null).join(" ") || null,
      one.status,
      one.raw === null ? null : html`<pre>${one.raw}</pre>`,
    ],
  }));
  const columns = ["", "Asked", "Says", "Code", "Status after it", "Answer as it came"];
  const rejected = rejectedAt === null ? null : html`, refused at ${sayUtc(rejectedAt)}`;
  return html`<h3>The transfer</h3>
<p>${type} of ${sayAmount(amount, currency)}, sent at ${sayUtc(sentAt)}, handed over at ${sayUtc(handedAt)}${rejected}: ${status}.</p>
${answers.length === 0 ? html`<p>The provider has not been asked yet.</p>` : renderPlainTable({ caption: "Every answer of the provider", columns, rows })}`;
}

const EVIDENCE_STYLE = `
:root { color-scheme: light; font: 14px/1.4 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; color: #1a2024; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; border-top: 3px solid #1a2024; padding-top: .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; }
a { color: #0f5c63; }
.faint { color: #566168; }
.missing { border-left: 4px solid #7a5200; padding-left: .7rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #566168; padding: 0 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .45rem; border: 1px solid #b8c0c4; overflow-wrap: anywhere; }
th { background: #eef1f2; font-weight: 600; overflow-wrap: normal; }
tr.differs td, tr.differs th { background: #fff3bf; }
.number { text-align: right; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .2rem 1.2rem; margin: .5rem 0; }
.facts div { display: flex; gap: .5rem; }
.facts dt { color: #566168; white-space: nowrap; }
.facts dd { margin: 0; min-width: 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #b8c0c4; padding: .5rem; margin: .2rem 0 .8rem;
  font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; }
.wide { overflow-x: auto; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  section.mismatch { break-before: page; }
  h2 { border-top: 0; margin-top: 0; padding-top: 0; }
  h2, h3, caption { break-after: avoid; }
  tr { break-inside: avoid; }
  thead { display: table-header-group; }
  .wide { overflow: visible; }
  a { color: inherit; text-decoration: none; }
}
`;

/** A whole document. `html` escapes all values, which come from outside. */
export function evidenceAsHtml(evidence: Evidence): string {
  const { mismatches, incident } = evidence;
  const title =
    incident === null
      ? `Evidence of ${sayCount(mismatches.length)}`
      : `Evidence of incident ${incident.id}: ${incident.kind} in ${incident.productId}${sayPart(incident)}`;
  const style = html.raw`<style>${EVIDENCE_STYLE}</style>`;
  return showTurningMarks(
    String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
${style}
</head>
<body>
<header><h1>${title}</h1>
${renderSource(evidence)}</header>
${renderContents(mismatches)}
<main>${mismatches.map(renderMismatch)}</main>
</body>
</html>
`),
  );
}

function sayPart({ part }: NonNullable<Evidence["incident"]>): string {
  return part.of === 1 ? "" : `, part ${part.number} of ${part.of}`;
}

function renderSource({ madeAt, ledger, mismatches, incident }: Evidence): SafeHtml {
  const of =
    incident === null
      ? null
      : html`<p>The incident has ${sayCount(incident.total)}, and began at ${sayUtc(incident.beganAt)}${incident.endedAt === null ? null : html`; it was over at ${sayUtc(incident.endedAt)}`}.${incident.ticket === null ? null : html` Your ticket: ${incident.ticket}.`}${incident.withProvider === null ? null : html` With you since ${sayUtc(incident.withProvider)}.`}</p>`;
  return html`<p>Made at ${sayUtc(madeAt)} by wallet-recon. It holds ${sayCount(mismatches.length)} between the provider's bet records, as <code>betTransactionsV2</code> returned them, and the operator's ledger (<code>${ledger}</code>), which holds every callback that the operator answered with success.</p>
${of}
<p class="faint">All times are UTC. All amounts are exact.</p>`;
}

function renderContents(mismatches: readonly MismatchEvidence[]): SafeHtml {
  const rows = mismatches.map((one, index) => ({
    cells: [
      html`<a href="#m${one.id}">${String(index + 1)}</a>`,
      html`<a href="#m${one.id}">${one.kind}</a>`,
      one.productId,
      one.username,
      subjectOf(one),
      sayUtc(one.occurredAt),
      sayAmount(one.amountAtRisk, one.currency),
    ] as Cell[],
  }));
  const columns = ["", "What", "Product", "Player", "Bet, round or transfer", "Happened", "Amount"];
  return html`<nav aria-label="Contents"><h3>Contents</h3>${renderPlainTable({ columns, numbers: ["Amount"], rows })}</nav>`;
}

function renderMismatch(one: MismatchEvidence, index: number): SafeHtml {
  const { id, kind, reason, missing } = one;
  const effect = sayEffect(one);
  const sentence = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  return html`<section class="mismatch" id="m${id}"><h2>${index + 1}. ${kind}: ${subjectOf(one)}</h2>
<p><strong>${sayAmountsWithin(sentence)}</strong></p>
<p class="faint">${kind} means: ${MEANING_OF_KIND[kind]}.</p>
${effect === null ? null : html`<p>By the provider's records ${effect}.</p>`}
${renderFacts(one)}
${renderSides(one)}
${missing.map((words) => html`<p class="missing">${words}</p>`)}
${renderTransfer(one)}
${renderEntries(one)}
${renderRecords(one)}
${renderFetches(one)}
${renderBodies(one)}
</section>
`;
}

function renderFacts(one: MismatchEvidence): SafeHtml {
  const facts: [string, string | null][] = [
    ["Mismatch", `#${one.id}`],
    ["Product", one.productId],
    ["Player", one.username],
    ["Currency", one.currency],
    ["Bet at the provider", one.betId],
    ["Transaction in the ledger", one.transactionId],
    ["Round", one.roundId],
    ["Transfer", one.transactionRef],
    ["Amount at risk", sayAmount(one.amountAtRisk, one.currency)],
    ["Happened", sayUtc(one.occurredAt)],
    ["First seen", sayUtc(one.firstSeenAt)],
    ["Last seen", sayUtc(one.lastSeenAt)],
    ["Your ticket", one.ticket],
    ["With you since", one.withProvider === null ? null : sayUtc(one.withProvider)],
  ];
  const known = facts.filter(([, value]) => value !== null);
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function renderSides({ sides }: MismatchEvidence): SafeHtml {
  const show = (text: string | null, as: string) => {
    if (text === null) return null;
    return as === "amount" ? sayAmount(text, null) : as === "time" ? sayUtc(text) : text;
  };
  const rows = sides.map(({ name, provider, ledger, differs, as }) => ({
    of: differs === true ? "differs" : null,
    cells: [
      name,
      show(provider, as),
      show(ledger, as),
      differs === true ? "differs" : differs === false ? "same" : null,
    ],
  }));
  return html`<h3>Both sides</h3>${renderPlainTable({ columns: ["", "Provider", "Operator", ""], rows })}`;
}

function subjectOf({ betId, transactionId, roundId, transactionRef }: MismatchEvidence): string {
  if (transactionRef !== null) return `transfer ${transactionRef}`;
  const bet = betId ?? transactionId;
  if (bet !== null) return `bet ${bet}`;
  return roundId === null ? "a session" : `round ${roundId}`;
}

function sayCount(count: number): string {
  return `${groupThousands(String(count))} ${count === 1 ? "mismatch" : "mismatches"}`;
}
