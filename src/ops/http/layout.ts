/** The common parts of all dashboard pages: head, navigation, frame of the content. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { type RoleName, roleOf } from "../../roles.ts";
import { ASSETS_AT } from "./assets.ts";

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * @param document HTML
 * @returns the same, in which each such character outside of tags is written as in the terminal: `\u202e`. Ids from outside could
 * otherwise show times and amounts of the same line backwards.
 */
export function showTurningMarks(document: string): string {
  return document.replace(/(^|>)[^<]*/g, (text) =>
    text.replace(TURNING, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`),
  );
}

/** The visitor of a page; null: not signed in. */
type Visitor = { readonly name: string; readonly role: RoleName; readonly by: string } | null;

/** A message about the step before, shown once. */
export interface Notice {
  readonly tone: "good" | "bad";
  readonly text: string;
  /** a form that undoes the step */
  readonly undo?: SafeHtml;
}

export interface DashboardPage {
  /** the title in the browser's tab and history */
  readonly title: string;
  readonly visitor: Visitor;
  /** the path of the request, for marking the entry of the navigation */
  readonly path: string;
  readonly main: SafeHtml;
  readonly notice?: Notice | null;
  /** the zone of its times, and the page's address for coming back from the choice of a zone; null: it shows no time */
  readonly times?: { readonly zone: string; readonly url: string } | null;
  /** whether the menu is shown even to unknown visitors; default: not */
  readonly hasMenu?: boolean;
  /** the topics whose changes refresh this page; none: the page does not refresh */
  readonly live?: readonly LiveTopic[];
  /** the state of these topics that the page shows at least; null: unknown */
  readonly seen?: string | null;
}

/** The topics of `GET /changes`. */
export type LiveTopic =
  | "pull"
  | "mismatches"
  | "transfers"
  | "backfills"
  | "alerts"
  | "closed"
  | "corrections"
  | "imports"
  | "rejected";

/** Each with the pages that it leads to: they count as parts of it. */
const NAVIGATION: readonly (readonly [href: string, name: string, ...parts: string[]])[] = [
  ["/", "Overview", "/coverage"],
  ["/incidents", "Incidents"],
  ["/mismatches", "Mismatches"],
  ["/transfers", "Transfers"],
  ["/backfills", "Backfill"],
  ["/report", "Report"],
  ["/trends", "Trends"],
  ["/health", "Health", "/alerts", "/rejected", "/imports"],
];

const SEARCH = html`<form role="search" method="get" action="/search"><input type="search" name="q" size="16" aria-label="Search" aria-keyshortcuts="/" placeholder="Bet, player, id" autocomplete="off"></form>`;

/** A whole document. `html` escapes all values; only `html` makes markup. */
export function renderPage(page: DashboardPage): string {
  const {
    title,
    visitor,
    path,
    main,
    notice = null,
    live = [],
    seen = null,
    times = null,
    hasMenu = visitor !== null,
  } = page;
  const document = html`<!doctype html>
<html lang="en"${times === null ? null : html` data-zone="${times.zone}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · wallet-recon</title>
<link rel="icon" href="${ASSETS_AT}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${ASSETS_AT}/style.css">
<script type="module" src="${ASSETS_AT}/page.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
<a class="brand" href="/">wallet-recon</a>
${hasMenu ? renderNavigation(path) : null}
${visitor === null || path === "/search" ? null : SEARCH}
${visitor === null ? null : renderVisitor(visitor)}
</header>
<div id="trouble" role="status"></div>
<main id="main" tabindex="-1" data-live="${live.join(" ")}" data-seen="${seen ?? ""}">
<div id="notice" role="status">${notice === null ? null : renderNotice(notice)}</div>
${main}
</main>
<footer><span id="connection" data-state="still"></span>${times === null ? null : renderZone(times)}</footer>
</body>
</html>
`;
  return showTurningMarks(String(document));
}

function renderNavigation(path: string): SafeHtml {
  const isAt = (one: string) => path === one || (one !== "/" && path.startsWith(`${one}/`));
  const links = NAVIGATION.map(([href, name, ...parts]) => {
    const here = isAt(href)
      ? html` aria-current="page"`
      : parts.some(isAt)
        ? html` aria-current="true"`
        : null;
    return html`<li><a href="${href}"${here}>${name}</a></li>`;
  });
  return html`<nav aria-label="Pages"><ul>${links}</ul></nav>`;
}

function renderVisitor({ name, role, by }: NonNullable<Visitor>): SafeHtml {
  const may = roleOf(role) === "admin" ? "" : ` (${roleOf(role) === "view" ? "read only" : role})`;
  const out = html`<form method="post" action="/sign-out"><button class="quiet">Sign out</button></form>`;
  return html`<div class="visitor"><span>${name}${may}</span>${by === "session" ? out : null}</div>`;
}

function renderZone({ zone, url }: NonNullable<DashboardPage["times"]>): SafeHtml {
  const choose = `/time-zone?${new URLSearchParams({ back: url })}`;
  return html`<span>All times are ${zone}. <a href="${choose}">Change the time zone</a></span>`;
}

function renderNotice({ tone, text, undo }: Notice): SafeHtml {
  return html`<div class="notice ${tone}"><p>${text}</p>${undo}</div>`;
}
