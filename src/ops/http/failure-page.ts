/** The page for a failed request: what happened, what it changed, what to do, and the typed values. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyReply, FastifyRequest } from "fastify";
import { endsInTime } from "../../in-time.ts";
import { isChange, isOwnChange } from "./cross-origin.ts";
import { renderPage } from "./layout.ts";

export interface Failure {
  readonly status: number;
  readonly title: string;
  /** what happened, and what to do: sentences */
  readonly says: string;
  /** whether the request certainly changed nothing */
  readonly isUnchanged: boolean;
}

const FORM = "application/x-www-form-urlencoded";
/** A form that arrives later, or larger, is not shown again. */
const LONGEST_READ_MS = 2_000;
const LARGEST_FORM = 64 * 1024;
/** Fields that the page itself wrote into its form. The user typed all others. */
const FIXED = new Set(["action", "from", "scope", "id", "shown", "back", "step"]);
/** A sign-in's form holds a secret. */
const SECRET_FORMS = /^\/sign-/;

/** Sends the page. Never fails for want of a database. */
export async function sendFailurePage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, title, says, isUnchanged }: Failure,
): Promise<FastifyReply> {
  const { asker, method, url, headers } = request;
  const isForm = isChange(method) && (headers["content-type"] ?? "").startsWith(FORM);
  const mayRepeat = isForm && !SECRET_FORMS.test(url) && isOwnChange(headers, "refuse");
  const fields = mayRepeat ? await readFields(request) : [];
  const changed = isUnchanged
    ? html`<p>Nothing was changed.</p>`
    : html`<p><strong>It is not known whether your step was carried out.</strong> Open the page again and look, before you repeat it.</p>`;
  const main = html`<h1>${title}</h1><p>${says}</p>
${isChange(method) ? changed : html`<p><a class="button" href="${url}">Try again</a></p>`}
${fields.length === 0 ? null : renderTyped(url, fields)}`;
  const page = renderPage({
    title,
    visitor: asker ?? null,
    path: url,
    main,
    hasMenu: !SECRET_FORMS.test(url),
  });
  return await reply.code(status).type("text/html; charset=utf-8").send(page);
}

function renderTyped(url: string, fields: readonly (readonly [string, string])[]): SafeHtml {
  const shown = fields.map(([name, value]) =>
    FIXED.has(name)
      ? html`<input type="hidden" name="${name}" value="${value}">`
      : html`<p><label class="note">${name} <textarea name="${name}" rows="2">${value}</textarea></label></p>`,
  );
  return html`<section class="sheet" aria-labelledby="typed-head"><h2 id="typed-head">What you sent</h2>
<form method="post" action="${url}" id="typed">${shown}<p><button>Send it again</button></p></form></section>`;
}

/** The fields of the form; a request that failed before its form was read still holds it. */
async function readFields({ body, raw }: FastifyRequest): Promise<(readonly [string, string])[]> {
  if (typeof body === "object" && body !== null) {
    return Object.entries(body).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, String(value)]),
    );
  }
  const chunks: Buffer[] = [];
  const read = async () => {
    let bytes = 0;
    for await (const chunk of raw) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > LARGEST_FORM) throw new Error("the form is too large");
    }
  };
  const isWhole = await endsInTime(read(), LONGEST_READ_MS).catch(() => false);
  return isWhole ? [...new URLSearchParams(Buffer.concat(chunks).toString("utf8"))] : [];
}
