/** Asks the sandbox over real HTTP, and reads exactly what comes over the wire. */

import { type IncomingHttpHeaders, request } from "node:http";
import { parse } from "lossless-json";
import { formatInstant } from "../../src/clock.ts";
import type { World } from "../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../src/window.ts";

export const CREDENTIALS = { username: "agent", password: "s3cret:with colon" };
const AUTHORIZATION = `Basic ${btoa(`${CREDENTIALS.username}:${CREDENTIALS.password}`)}`;

/** An item of `txns`; its numbers are their text. */
export type Item = Readonly<Record<string, unknown>>;

export interface TxnPage {
  readonly code: string;
  readonly message: string;
  readonly reqId: string;
  readonly data: { readonly nextId?: string; readonly txns: readonly Item[] };
}

export function rangeOf(productId: string, { from, to }: TimeRange): Record<string, string> {
  return { productId, startTime: formatInstant(from), endTime: formatInstant(to) };
}

function urlOf(baseUrl: string, parameters: Record<string, string>): URL {
  const url = new URL(`${baseUrl}/seamless/betTransactionsV2`);
  url.search = new URLSearchParams(parameters).toString();
  return url;
}

export function ask(
  baseUrl: string,
  parameters: Record<string, string>,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(urlOf(baseUrl, parameters), { headers: { authorization: AUTHORIZATION }, ...init });
}

/** Everything that a request brought until its end. */
export interface Observed {
  /** null: no answer began */
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** whether the answer is as long as its headers promised */
  readonly whole: boolean;
}

export function observe(baseUrl: string, parameters: Record<string, string>): Promise<Observed> {
  return new Promise((resolve) => {
    const asked = request(
      urlOf(baseUrl, parameters),
      { headers: { authorization: AUTHORIZATION }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => {});
        response.on("close", () =>
          resolve({
            status: response.statusCode ?? null,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
            whole: response.complete,
          }),
        );
      },
    );
    asked.on("error", () => resolve({ status: null, headers: {}, body: "", whole: false }));
    asked.end();
  });
}

export function parsePage(body: string): TxnPage {
  return parse(body, null, (digits) => digits) as TxnPage;
}

export async function askPage(baseUrl: string, parameters: Record<string, string>): Promise<TxnPage> {
  return parsePage(await (await ask(baseUrl, parameters)).text());
}

/** The pages of a query, up to the last one. */
export async function* askPages(
  baseUrl: string,
  parameters: Record<string, string>,
): AsyncGenerator<TxnPage["data"]> {
  let nextId: string | undefined;
  do {
    const page = await askPage(baseUrl, nextId === undefined ? parameters : { ...parameters, nextId });
    if (page.code !== "0") throw new Error(`the sandbox answered with code ${page.code}: ${page.message}`);
    yield page.data;
    nextId = page.data.nextId;
  } while (nextId !== undefined);
}

export async function readPages(
  baseUrl: string,
  parameters: Record<string, string>,
): Promise<TxnPage["data"][]> {
  const pages: TxnPage["data"][] = [];
  for await (const page of askPages(baseUrl, parameters)) pages.push(page);
  return pages;
}

/** Records as an answer writes them, numbers as their text. */
export function written(records: ReturnType<World["recordsIn"]>): Item[] {
  return records.map(({ extra: _, stake, payout, ...record }) => ({
    ...record,
    stake: stake.toFixed(),
    payout: payout.toFixed(),
  }));
}
