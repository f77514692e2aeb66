/** `GET /time-zone`: chooses the zone in which all pages show and read times. A cookie keeps the choice. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isZone } from "../../../clock.ts";
import { cameByHttps, isOwnChange, readOwnPath } from "../../http/same-origin.ts";
import { usage } from "../../input/fields.ts";
import { nameItself, type Problem, problemOf, renderSelect } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { CHOSEN_ZONE, zoneOf } from "../parts/zone.ts";

type ZoneRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

const YEAR_SECONDS = 31_536_000;

export function addTimeZonePage(pages: FastifyInstance): void {
  pages.get("/time-zone", async (request: ZoneRequest, reply) => {
    const { zone, back: typed } = request.query;
    const back = readOwnPath(typed);
    // A link from another site must not choose.
    if (typeof zone !== "string" || !isOwnChange(request.headers, "accept")) {
      const chosen = request.cookies[CHOSEN_ZONE] ?? "";
      return await sendChoice(request, reply, { zone: chosen, back, problem: null });
    }
    if (zone !== "" && !isZone(zone)) {
      const wrong = usage(
        `there is no zone "${zone.slice(0, 60)}"; it is a name such as Asia/Bangkok`,
        "zone",
      );
      return await sendChoice(request, reply.code(400), { zone, back, problem: problemOf(wrong) });
    }
    choose(request, reply, zone);
    const text = zone === "" ? "Times are shown in your browser's zone." : `Times are shown in ${zone}.`;
    setNotice(reply, { tone: "good", text });
    return await reply.redirect(back, 303);
  });
}

/** @param zone empty: the browser's */
function choose(request: FastifyRequest, reply: FastifyReply, zone: string): void {
  const options = { sameSite: "lax", path: "/", secure: cameByHttps(request) } as const;
  if (zone === "") reply.clearCookie(CHOSEN_ZONE, options);
  else reply.setCookie(CHOSEN_ZONE, zone, { ...options, maxAge: YEAR_SECONDS });
}

interface ZoneForm {
  /** as typed, or as chosen before */
  readonly zone: string;
  readonly back: string;
  readonly problem: Problem | null;
}

async function sendChoice(request: ZoneRequest, reply: FastifyReply, form: ZoneForm): Promise<FastifyReply> {
  return await sendPage(request, reply, {
    title: "Time zone",
    path: "/time-zone",
    main: renderChoice(form, zoneOf(request)),
    notice: takeNotice(request, reply),
  });
}

function renderChoice({ zone, back, problem }: ZoneForm, now: string): SafeHtml {
  const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")].map(nameItself);
  const field = { label: "Time zone", name: "zone", value: zone, problem };
  return html`<h1>Time zone</h1>
<form method="get" action="/time-zone" class="sheet fields">
${renderSelect(field, [["", "the browser's"], ...zones])}
<input type="hidden" name="back" value="${back}">
<button>Choose</button>
</form>
<p>All pages show times in this zone, now ${now}, and read a time without an offset in it. Point at a time to see it in UTC; files and the API have UTC only.</p>`;
}
