/** What a page tells about the step before it: carried over the redirect in a cookie, and told once. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyReply, FastifyRequest } from "fastify";
import { readOwnPath } from "../own-path.ts";
import { cameByHttps } from "../sessions.ts";
import type { Notice } from "./layout.ts";

/** What is told of a step. It is data: the page that shows it escapes it. */
export interface StepNotice {
  readonly tone: Notice["tone"];
  /** one or two sentences; cut off where it is too long for a cookie */
  readonly text: string;
  /** names a step that was taken with mismatches, and can be taken back; null, absent: it cannot */
  readonly undo?: string | null;
}

const COOKIE = "recon_notice";
const LIVES_SECONDS = 60;
/** Browsers take cookies of 4 KiB, and base64 makes 4 bytes of 3. */
const MOST_BYTES = 2_000;
/** How a step is named: by a UUID. */
export const STEP = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** What a page sends when it brings itself up to date: nobody looks at that as a page of its own. */
const REFRESH_HEADER = "x-refresh";

/** Tells the next page that this visitor opens. */
export function setNotice(reply: FastifyReply, { tone, text, undo = null }: StepNotice): void {
  const value = Buffer.from(JSON.stringify({ tone, text: cutOff(text), undo })).toString("base64url");
  reply.setCookie(COOKIE, value, { ...optionsOf(reply.request), maxAge: LIVES_SECONDS });
}

/** @returns what the page is to tell, which is told by it and no other; null: nothing */
export function takeNotice(request: FastifyRequest, reply: FastifyReply): Notice | null {
  const value = request.cookies[COOKIE];
  if (value === undefined || request.headers[REFRESH_HEADER] !== undefined) return null;
  reply.clearCookie(COOKIE, optionsOf(request));
  const notice = readNotice(value);
  if (notice === null) return null;
  const { tone, text, undo } = notice;
  return undo === null ? { tone, text } : { tone, text, undo: renderUndo(undo, request.url) };
}

/** A cookie is the visitor's to change: whatever is not one of ours is nothing. */
function readNotice(value: string): (StepNotice & { undo: string | null }) | null {
  try {
    const { tone, text, undo } = JSON.parse(Buffer.from(value, "base64url").toString("utf8")) ?? {};
    if ((tone !== "good" && tone !== "bad") || typeof text !== "string") return null;
    return { tone, text, undo: typeof undo === "string" && STEP.test(undo) ? undo : null };
  } catch {
    return null;
  }
}

/** @param url of the page that shows it: the way back */
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
  // A character that was cut in its middle is dropped.
  return `${new TextDecoder().decode(bytes.subarray(0, MOST_BYTES), { stream: true })}…`;
}

function optionsOf(request: FastifyRequest) {
  return { httpOnly: true, sameSite: "strict", path: "/", secure: cameByHttps(request) } as const;
}
