/** Errors over HTTP: problem details (RFC 9457) for programs, a page for browsers; and the page of all codes, where `type` leads. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode, WrongField } from "../../errors.ts";
import { renderPage } from "./layout.ts";
import { cameByHttps } from "./same-origin.ts";

/** The code of a refusal that is no error of the program, by its status. docs/errors.md explains each. */
export const CODE_OF_STATUS = {
  400: "malformed-request",
  401: "unauthenticated",
  403: "forbidden",
  404: "unknown-path",
  405: "method-not-allowed",
  408: "request-timeout",
  413: "too-large",
  415: "unsupported-media-type",
  429: "too-many-requests",
  431: "headers-too-large",
  500: "internal-error",
  503: "unavailable",
} as const;
type CodedStatus = keyof typeof CODE_OF_STATUS;
export type ProblemCode = ErrorCode | (typeof CODE_OF_STATUS)[CodedStatus];

/** What a problem has beside its status and words. */
interface ProblemParts {
  /** default: the code of the status */
  readonly code?: ProblemCode;
  /** the wrong fields, if more is known than `detail` says */
  readonly fields?: readonly WrongField[];
}

/** Sends a problem; `detail` says what is wrong with this request. */
export async function sendProblem(
  reply: FastifyReply,
  status: number,
  title: string,
  detail: string,
  { code = codeOfStatus(status), fields = [] }: ProblemParts = {},
): Promise<FastifyReply> {
  reply.code(status);
  if (wantsPage(reply.request)) {
    const { asker, url } = reply.request;
    const main = html`<h1>${title}</h1><p>${detail}</p>${status === 404 ? renderSearchFor(url) : null}`;
    const page = renderPage({ title, visitor: asker ?? null, path: url, main, hasMenu: true });
    return await reply.type("text/html; charset=utf-8").send(page);
  }
  const type = typeOf(code, originOf(reply.request));
  const errors = fields.map(({ name, message }) => ({ field: name, detail: message }));
  return await reply
    .type("application/problem+json")
    .send({ type, title, status, detail, code, ...(errors.length === 0 ? {} : { errors }) });
}

/** An address that somebody shortened or typed often ends with the id that is looked for. */
function renderSearchFor(url: string): SafeHtml {
  const [path = ""] = url.split("?");
  const last = path.slice(path.lastIndexOf("/") + 1);
  return html`<form method="get" action="/search" class="sheet fields">
<label>Search for an id or a player <input name="q" value="${decodeText(last)}" size="40" autocomplete="off"></label>
<button>Find</button></form>`;
}

function decodeText(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Whether a browser shows the answer; the API always answers JSON. */
export function wantsPage({ url, headers }: FastifyRequest): boolean {
  return !/^\/api(?:[/?]|$)/.test(url) && /\btext\/html\b/i.test(headers.accept ?? "");
}

/** An unknown status below 500 is a request that Fastify could not read. */
export function codeOfStatus(status: number): ProblemCode {
  if (Object.hasOwn(CODE_OF_STATUS, status)) return CODE_OF_STATUS[status as CodedStatus];
  return CODE_OF_STATUS[status < 500 ? 400 : 500];
}

const PAGE = "/docs/errors.md";

/**
 * The address of a code's explanation. The server has the page itself: its network may have no way out, and the text is that of the
 * running version.
 * @param origin "https://recon.example.com"; empty: unknown
 */
export function typeOf(code: ProblemCode, origin: string): string {
  return `${origin}${PAGE}#${code}`;
}

declare module "fastify" {
  interface FastifyInstance {
    /** OPS_PUBLIC_URL; null: not set */
    readonly publicUrl?: string | null;
  }
}

/** OPS_PUBLIC_URL, or as the caller names this server; empty if it does not. */
function originOf(request: FastifyRequest): string {
  const { publicUrl = null } = request.server;
  if (publicUrl !== null) return publicUrl;
  const origin = `${cameByHttps(request) ? "https" : request.protocol}://${request.headers.host ?? ""}`;
  return URL.canParse(origin) && new URL(origin).pathname === "/" ? origin : "";
}

/** Beside the sources, and beside the compiled files in a package. */
const FILE = join(import.meta.dirname, "../../../docs/errors.md");
const ROW = /^\| <a id="(?<code>[a-z0-9-]+)"><\/a>`[^|]+\|(?<cells>.+)\|$/;

/** `GET /docs/errors.md`, for everybody: the page in a browser, its text for others. */
export function addErrorsPage(app: FastifyInstance): void {
  app.get(PAGE, async (request, reply) => {
    const text = await readFile(FILE, "utf8");
    reply.header("vary", "accept");
    if (!wantsPage(request)) return await reply.type("text/markdown; charset=utf-8").send(text);
    const codes = text.split("\n").flatMap((line) => {
      const { code = "", cells = "" } = ROW.exec(line)?.groups ?? {};
      const said = cells.split(" | ").map((cell) => html`<p>${plain(cell)}</p>`);
      return code === "" ? [] : [html`<section class="sheet"><h2 id="${code}">${code}</h2>${said}</section>`];
    });
    const title = "Error codes";
    const main = html`<h1>${title}</h1>${codes}`;
    const page = renderPage({ title, visitor: null, path: PAGE, main });
    return await reply.type("text/html; charset=utf-8").send(page);
  });
}

/** Markdown as text: links lead to pages that the server does not have. */
function plain(cell: string): string {
  return cell
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .trim();
}
