/** `GET /search?q`: what an id belongs to, and whether both sides agree about that bet. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Instant } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type FoundBet,
  type LatestBets,
  readLatestBets,
  type SearchResult,
  search,
} from "../../../flows/read/search.ts";
import { doesAgree } from "../../../flows/read/search-answer.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import { RESOLVED_BY_RECON } from "../../../mismatches/transitions.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { read } from "../../input/fields.ts";
import { EMPTY_SEARCH, SEARCH_QUERY } from "../../input/search-query.ts";
import { sayCount } from "../mismatches/mismatch-words.ts";
import { renderSideTable } from "../mismatches/render-sides.ts";
import { type Problem, problemOf, renderInput, renderProblem } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayAmounts, sayWords, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { zoneOf } from "../parts/zone.ts";
import { linkToItems } from "../report/render-items.ts";
import { pathOfTransfer } from "../transfers/render-transfers.ts";

interface Search {
  /** as typed */
  readonly q: string;
  /** null: nothing was asked yet, or the question has an error */
  readonly found: SearchResult | null;
  /** null: no player has this name */
  readonly latest: LatestBets | null;
  readonly problem: Problem | null;
  /** when it was searched */
  readonly at: Instant;
}

function renderSearch({ q, found, latest, problem, at }: Search, zone: string): SafeHtml {
  return html`<h1>Search</h1>
<form method="get" action="/search" class="sheet fields">
${renderInput({ label: "Id or player", name: "q", value: q, problem }, html`size="40" autocomplete="off"`)}
<button>Find</button>
</form>
${renderProblem(problem, ["q"])}
<p class="faint">The whole id of a bet, a round, a record, a transaction, a transfer or a request; a player; or the number of a mismatch or an incident, as in <code>#6</code>. One player's round is found fastest by both: <code>anna round-1</code>.</p>
${found === null ? null : renderFound(found, latest, q, zone)}
${found === null || found.isCheap ? null : html`<p class="faint">This page does not update itself. It was searched ${showTime(at, zone)}.</p>`}`;
}

function renderFound(found: SearchResult, latest: LatestBets | null, q: string, zone: string) {
  const { numbered, bets, hasMore, playsAt, transfers, requests, unsearched } = found;
  const isNumber = numbered.mismatch !== null || numbered.incident !== null;
  const isNothing = !isNumber && bets.length + playsAt.length + transfers.length + requests.length === 0;
  const words =
    "Nothing stored has this id. The search needs the whole id, in the same capital and small letters. Old data may be deleted.";
  if (isNothing && unsearched.players === null && unsearched.entries === null)
    return html`<p class="sheet">${words}</p>`;
  return html`${isNumber ? renderNumbered(numbered) : null}
${playsAt.length === 0 ? null : renderPlayer(q, found)}
${latest === null ? null : renderLatest(latest, zone)}
${transfers.map((one) => renderTransfer(q, one))}
${requests.map((one) => renderRequest(q, one))}
${bets.map((bet) => renderBet(bet, zone))}
${hasMore ? html`<p>There are more bets: search for one of their ids.</p>` : null}
${renderUnsearched(found, isNothing)}`;
}

function renderNumbered({ mismatch, incident }: SearchResult["numbered"]): SafeHtml {
  const one =
    mismatch === null
      ? null
      : html`<li><a href="/mismatches/${mismatch.id}">Mismatch #${mismatch.id}: ${mismatch.kind}</a> ${showState(mismatch.status)} ${mismatch.username} at ${mismatch.productId}</li>`;
  const other =
    incident === null
      ? null
      : html`<li><a href="/incidents/${incident.id}">Incident #${incident.id}: ${incident.kind}</a> ${incident.endedAt === null ? showState("open") : html`<span class="state" data-state="resolved">over</span>`} at ${incident.productId}</li>`;
  return html`<section class="sheet" aria-label="By number"><ul>${one}${other}</ul></section>`;
}

function renderUnsearched(
  { unsearched: { players, entries }, isCheap, numbered }: SearchResult,
  isNothing: boolean,
) {
  if (players === null && entries === null) return null;
  // It was found by its index, as most ids are: that search is whole.
  if (isCheap || numbered.mismatch !== null || numbered.incident !== null) {
    const rounds = players === null ? "all players" : `the first ${showCount(players)} players`;
    const requests =
      entries === null ? "all ledger entries" : `the newest ${showCount(entries)} ledger entries`;
    return html`<p class="faint">Rounds and requests of the same id were looked for too: at ${rounds}, and in ${requests}.</p>`;
  }
  return html`<div class="sheet"><p>${isNothing ? "Nothing was found, but not" : "There may be more: not"} everything could be searched.</p>
<ul>${players === null ? null : html`<li>For a round with this id, only ${showCount(players)} players were searched: type the player too, as in <code>anna round-1</code>.</li>`}
${entries === null ? null : html`<li>For a request with this id, only the newest ${showCount(entries)} ledger entries were searched.</li>`}</ul></div>`;
}

function renderBet(bet: FoundBet, zone: string): SafeHtml {
  const { productId, username, ref, roundId, provider, ledger, difference, mismatches } = bet;
  return html`<section class="sheet" aria-label="Bet ${ref}"><h2>Bet ${ref}</h2>
<p>${productId}, player <strong>${username}</strong>${roundId === null ? null : html`, round ${roundId}`}</p>
${renderVerdict(bet, zone)}
${renderSideTable({ kind: difference?.kind ?? "payout-differs", provider, ledger }, zone)}
${renderStatement(bet)}
${renderMismatches(mismatches)}</section>`;
}

function renderStatement({ countsOn, productId, provider, ledger }: FoundBet): SafeHtml | null {
  if (countsOn === null) return null;
  const currency = provider?.currency ?? ledger?.currency ?? "";
  const lines = linkToItems(html`these lines`, { day: countsOn, productId, currency });
  return html`<p>It counts in the statement of <a href="/report?day=${countsOn}">${countsOn}</a>, among ${lines}.</p>`;
}

function renderMismatches(mismatches: FoundBet["mismatches"]): SafeHtml | null {
  const links = mismatches.map(
    ({ id, kind, status }) =>
      html`<li><a href="/mismatches/${id}">Mismatch #${id}: ${kind}</a> ${showState(status)}</li>`,
  );
  return links.length === 0 ? null : html`<ul>${links}</ul>`;
}

function renderVerdict({ difference, provider, ledger, mismatches }: FoundBet, zone: string): SafeHtml {
  const verdict = (state: string, words: SafeHtml | string) =>
    html`<p class="verdict" data-state="${state}"><span>${words}</span></p>`;
  if (provider === null && ledger === null) {
    return verdict("unknown", "Neither side can be described: its records or entries are not complete.");
  }
  if (difference === null) {
    if (provider !== null && ledger !== null) {
      return doesAgree({ difference, provider, ledger }) === true
        ? verdict("good", "Both sides agree about this bet.")
        : verdict(
            "unknown",
            "Some values differ, and the comparison accepts that: within a tolerance, or before the ledger began.",
          );
    }
    const side = provider === null ? "ledger" : "provider";
    return verdict(
      "unknown",
      `Only the ${side} has this bet so far, and the other side need not have it yet.`,
    );
  }
  const isKnown = mismatches.some(({ status }) => status === "open" || status === "acknowledged");
  const words = sayWords(difference.reason, zone);
  if (isKnown) return verdict("bad", `The sides differ: ${words}.`);
  const decided = mismatches.find(
    ({ kind, resolvedBy }) =>
      kind === difference.kind && resolvedBy !== null && resolvedBy !== RESOLVED_BY_RECON,
  );
  if (decided !== undefined) {
    const { id, status, resolvedBy, resolvedAt } = decided;
    return verdict(
      "warn",
      html`The sides differ: ${words}. Mismatch #${id}: ${status} by ${resolvedBy}, ${showTime(resolvedAt, zone)}.`,
    );
  }
  return verdict(
    "warn",
    difference.lacksDeleted
      ? `The sides differ, and no mismatch is opened: ${words}. Rows that would explain it may be deleted (retain).`
      : `The sides differ, and no mismatch is open: ${words}. Either its graces are not over, or ops have decided it.`,
  );
}

function renderTransfer(ref: string, one: SearchResult["transfers"][number]): SafeHtml {
  const { kind, productId, username, status, amount, currency, mismatches } = one;
  const of = kind === "top-up" ? { kind, product: productId, username } : {};
  const name = `${kind === "top-up" ? "Top-up" : "Transfer"} ${ref}`;
  return html`<section class="sheet" aria-label="${name}"><p><a href="${pathOfTransfer(ref, of)}">${name}</a> ${showState(status)} ${showAmount(amount, currency)} for ${username} at ${productId}</p>
${renderMismatches(mismatches)}</section>`;
}

function renderRequest(id: string, one: SearchResult["requests"][number]): SafeHtml {
  const { productId, callback, balanceBefore, balanceAfter } = one;
  return html`<p class="sheet">Request ${id}: ${callback} of ${productId} was answered with success. The balance was ${showAmount(balanceBefore, null)} before it and ${showAmount(balanceAfter, null)} after it.</p>`;
}

function renderPlayer(username: string, { playsAt, ofPlayer }: SearchResult): SafeHtml {
  const count = ofPlayer.reduce((sum, one) => sum + one.count, 0);
  const open = new URLSearchParams({ username });
  const all = new URLSearchParams({ username, status: MISMATCH_STATUSES.join(",") });
  const sent = new URLSearchParams({ username, status: "pending,accepted,rejected,inconclusive" });
  return html`<section class="sheet" aria-label="Player"><h2>Player ${username}</h2>
<p>Plays at ${playsAt.join(", ")}. ${count === 0 ? "No mismatch is open or acknowledged." : html`<a href="/mismatches?${String(open)}">${sayCount(count)}</a> open or acknowledged, ${sayAmounts(ofPlayer)} at risk.`}</p>
<p>See <a href="/mismatches?${String(all)}">all mismatches</a> and the <a href="/transfers?${String(sent)}">transfers</a> of this player.</p></section>`;
}

const LATEST_COLUMNS: readonly Column[] = [
  { name: "bet", as: "head" },
  { name: "when" },
  { name: "product", as: "text" },
  { name: "provider", as: "text" },
  { name: "ledger", as: "text" },
  { name: "compared" },
];

function renderLatest({ bets, among }: LatestBets, zone: string): SafeHtml {
  const rows = bets.map((bet) => {
    const { ref, productId, provider, ledger } = bet;
    return {
      of: bet.difference === null ? null : "differs",
      cells: [
        html`<a href="/search?${String(new URLSearchParams({ q: ref }))}">${ref}</a>`,
        showTime(provider?.accountingDate ?? ledger?.firstEntryAt ?? null, zone),
        productId,
        ...(provider === null && ledger === null
          ? ["unknown", "unknown"]
          : [renderSide(provider), renderSide(ledger)]),
        sayCompared(bet),
      ],
    };
  });
  const where =
    among === null
      ? null
      : html`<p class="faint">Those among the newest ${showCount(among)} records of each product, and the newest ${showCount(among)} ledger entries.</p>`;
  const table =
    rows.length === 0
      ? html`<p>No bet was found.</p>`
      : renderTable({ name: "Latest bets", columns: LATEST_COLUMNS, rows });
  return html`<section class="sheet" aria-labelledby="latest"><h2 id="latest">Latest bets</h2>
${table}${where}</section>`;
}

function renderSide(side: FoundBet["provider"] | FoundBet["ledger"]): SafeHtml {
  if (side === null) return html`<span class="none">none so far</span>`;
  const { stake, payout, currency, status } = side;
  return html`stake ${showAmount(stake, currency)}, payout ${showAmount(payout, currency)}${status === null ? null : html` <span class="faint">${status}</span>`}`;
}

function sayCompared(bet: FoundBet): SafeHtml | string {
  const { difference, mismatches } = bet;
  const [newest] = mismatches;
  if (newest !== undefined)
    return html`<a href="/mismatches/${newest.id}">#${newest.id}</a> ${showState(newest.status)}`;
  if (difference !== null) return html`<strong>differs</strong>`;
  if (bet.provider === null || bet.ledger === null) return html`<span class="faint">not yet</span>`;
  return doesAgree(bet) === true ? "same" : html`<span class="faint">accepted</span>`;
}

type SearchRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

const NOTHING_TYPED: Problem = { text: EMPTY_SEARCH, fields: [{ name: "q", message: EMPTY_SEARCH }] };

export function addSearchPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/search", async (request: SearchRequest, reply) => {
    const shared = { title: "Search", path: "/search", notice: takeNotice(request, reply) };
    const zone = zoneOf(request);
    try {
      const { q } = read(SEARCH_QUERY, request.query);
      const found = q === "" ? null : await search(context, q.toWellFormed());
      const playsAt = found?.playsAt ?? [];
      const latest = playsAt.length === 0 ? null : await readLatestBets(context, playsAt, q.toWellFormed());
      const problem = q === "" && request.query["q"] !== undefined ? NOTHING_TYPED : null;
      const main = renderSearch({ q, found, latest, problem, at: context.clock.now() }, zone);
      // A search without an index reads too much to be repeated by every open page.
      const live: readonly LiveTopic[] = found?.isCheap === true ? ["pull", "mismatches", "transfers"] : [];
      return await sendPage(request, reply, { ...shared, main, live });
    } catch (error) {
      if (statusOfRefusal(error) !== 400) throw error;
      const q = typeof request.query["q"] === "string" ? request.query["q"] : "";
      const main = renderSearch(
        { q, found: null, latest: null, problem: problemOf(error), at: context.clock.now() },
        zone,
      );
      return await sendPage(request, reply.code(400), { ...shared, main });
    }
  });
}
