/** The guide of a start without settings: what a newcomer may look at first. A cookie keeps it closed. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { cameByHttps, isOwnChange } from "../../http/same-origin.ts";

/** A page that is worth a look. */
export interface GuideStep {
  /** what is seen there: "A deposit that was booked too late" */
  readonly what: string;
  /** the path of the page */
  readonly path: string;
}

const COOKIE = "recon_guide";
const YEAR_SECONDS = 31_536_000;

/** @returns null if there is no guide, or the visitor has closed it */
export function renderGuide(
  { cookies }: Pick<FastifyRequest, "cookies">,
  steps: readonly GuideStep[],
): SafeHtml | null {
  if (steps.length === 0 || cookies[COOKIE] === "closed") return null;
  const links = steps.map(({ what, path }) => html`<li><a href="${path}">${what}</a></li>`);
  return html`<section class="sheet guide" aria-labelledby="guide">
<div class="row between"><h2 id="guide">Look around</h2><form method="get" action="/guide/close"><button class="quiet">Close the guide</button></form></div>
<p>Players of a simulated provider play here, and a dozen faults are planted. Look at:</p>
<ol>${links}</ol>
</section>`;
}

/** `GET /guide/close`: a choice of the visitor, which changes nothing here. */
export function addCloseGuide(pages: FastifyInstance): void {
  pages.get("/guide/close", async (request, reply) => {
    // A link from another site must not choose.
    if (isOwnChange(request.headers, "accept")) {
      const options = { sameSite: "lax", path: "/", secure: cameByHttps(request) } as const;
      reply.setCookie(COOKIE, "closed", { ...options, httpOnly: true, maxAge: YEAR_SECONDS });
    }
    return await reply.redirect("/", 303);
  });
}
