/** The evidence as one HTML file: a head, a table of contents, and a page or more for each mismatch. All times are UTC. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { sayEffect } from "../../advice.ts";
import { MEANING_OF_KIND } from "../../alerts/kind-meanings.ts";
import type { MismatchEvidence } from "../../flows/read/mismatch-evidence.ts";
import type { Evidence } from "../../flows/read/read-evidence.ts";
import { groupThousands, sayAmount, sayAmountsWithin } from "../../money.ts";
import { showTurningMarks } from "../http/visible-marks.ts";
import {
  renderBodies,
  renderEntries,
  renderFetches,
  renderRecords,
  renderTransfer,
} from "./evidence-parts.ts";
import { EVIDENCE_STYLE } from "./evidence-style.ts";
import { type Cell, renderPlainTable, sayUtc } from "./plain-table.ts";

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
      : html`<p>The incident has ${sayCount(incident.total)}, and began at ${sayUtc(incident.beganAt)}${incident.endedAt === null ? null : html`; it was over at ${sayUtc(incident.endedAt)}`}.</p>`;
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
