/** The message about a visitor's last step: a cookie carries the message over the redirect, and one page shows it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Notice } from "../../http/layout.ts";
import { cameByHttps, readOwnPath } from "../../http/same-origin.ts";

/** Draws the words of a form that came too late: their writer may still need them. @param name of the field, "Your note" */
export function renderUnsaved(name: string, words: string): SafeHtml | null {
  return words === ""
    ? null
    : html`<section class="sheet" aria-labelledby="unsaved"><h2 id="unsaved">${name}, which is not saved</h2>
<p class="words">${words}</p></section>`;
}

/** The message about a step, as data. The page escapes it. */
export interface StepNotice {
  readonly tone: Notice["tone"];
  /** one or two sentences; cut off at the size of a cookie */
  readonly text: string;
  /** the id of a step that can be undone; null or absent: there is none */
  readonly undo?: string | null;
}

const COOKIE = "recon_notice";
const LIVES_SECONDS = 60;
/** Browsers accept cookies of 4 KiB, and base64 makes 4 bytes of 3. */
const MOST_BYTES = 2_000;
/** The pattern of a step's id, a UUID. */
export const STEP = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The header of a page that refreshes itself. Such a request must not use up the message. */
const REFRESH_HEADER = "x-refresh";

/** Stores the message for the visitor's next page. */
export function setNotice(reply: FastifyReply, { tone, text, undo = null }: StepNotice): void {
  const value = Buffer.from(JSON.stringify({ tone, text: cutOff(text), undo })).toString("base64url");
  reply.setCookie(COOKIE, value, { ...optionsOf(reply.request), maxAge: LIVES_SECONDS });
}

/** @returns the message, which only this page shows; null: there is none */
export function takeNotice(request: FastifyRequest, reply: FastifyReply): Notice | null {
  const value = request.cookies[COOKIE];
  if (value === undefined || request.headers[REFRESH_HEADER] !== undefined) return null;
  reply.clearCookie(COOKIE, optionsOf(request));
  const notice = readNotice(value);
  if (notice === null) return null;
  const { tone, text, undo } = notice;
  return undo === null ? { tone, text } : { tone, text, undo: renderUndo(undo, request.url) };
}

/** Visitors can change cookies, so an unknown content counts as no message. */
function readNotice(value: string): (StepNotice & { undo: string | null }) | null {
  try {
    const { tone, text, undo } = JSON.parse(Buffer.from(value, "base64url").toString("utf8")) ?? {};
    if ((tone !== "good" && tone !== "bad") || typeof text !== "string") return null;
    return { tone, text, undo: typeof undo === "string" && STEP.test(undo) ? undo : null };
  } catch {
    return null;
  }
}

/** @param url the address of the page, for the way back */
function renderUndo(step: string, url: string): SafeHtml {
  return html`<form method="post" action="/mismatches/undo">
<input type="hidden" name="step" value="${step}">
<input type="hidden" name="back" value="${readOwnPath(url)}">
<button class="quiet">Undo</button>
</form>`;
}

function cutOff(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_BYTES) return text;
  // Drops a character that was cut in the middle.
  return `${new TextDecoder().decode(bytes.subarray(0, MOST_BYTES), { stream: true })}…`;
}

function optionsOf(request: FastifyRequest) {
  return { httpOnly: true, sameSite: "strict", path: "/", secure: cameByHttps(request) } as const;
}
