/** The endpoints of the settings: addresses of programs that get events, each with its own secrets and wishes. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { webhookSecret } from "./environment.ts";
import { MISMATCH_EVENT_TYPES, MISMATCH_KINDS, type MismatchKind } from "./mismatch.ts";

/** The types of events that an endpoint can get. */
export const EVENT_TYPES = [
  ...MISMATCH_EVENT_TYPES,
  "incident.opened",
  "incident.grown",
  "incident.over",
  "statement.closed",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
const EVENT_GROUPS = ["mismatch.*", "incident.*"] as const;

/** Each event of a mismatch names the endpoints that get it. */
const MOST_ENDPOINTS = 20;
const MOST_PRODUCTS = 1000;

export interface Endpoint {
  /** the host and a part of the hash of the URL, which may hold a secret: "wallet.example-1f3a9c2e" */
  readonly name: string;
  readonly url: string;
  /** names of one or two environment variables */
  readonly secret: readonly string[];
  readonly events: readonly EventType[];
  /** null: all */
  readonly products: readonly string[] | null;
  readonly kinds: readonly MismatchKind[] | null;
  /** decimal text by currency */
  readonly minAmount: Readonly<Record<string, string>>;
}

// A secret in place of its name must not be shown as the name of a variable that is not set.
const variable = z.string().regex(/^(?!whsec_)[A-Za-z_]\w{0,99}$/);
const IS_URL = "must be a URL that begins with https:// or http://";

/** @param minAmount the least amounts by currency */
export function endpointSettings(
  minAmount: z.ZodType<Record<string, string>, Record<string, string> | undefined>,
) {
  const endpoint = z
    .strictObject({
      url: z
        .string()
        .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), IS_URL),
      secret: z.union([variable.transform((name) => [name]), z.array(variable).min(1).max(2)], {
        error:
          "must be the name of the environment variable that has the secret, or a list of one or two such names",
      }),
      events: z
        .array(z.enum([...EVENT_TYPES, ...EVENT_GROUPS]))
        .min(1)
        .nullable()
        .default(null),
      products: z.array(z.string().min(1)).min(1).max(MOST_PRODUCTS).nullable().default(null),
      kinds: z.array(z.enum(MISMATCH_KINDS)).min(1).nullable().default(null),
      minAmount,
    })
    .transform(({ events, ...rest }): Endpoint => {
      const isWanted = (type: EventType) =>
        events === null || events.some((one) => one === type || one === `${type.split(".")[0]}.*`);
      return { ...rest, name: nameOf(rest.url), events: EVENT_TYPES.filter(isWanted) };
    });
  return z
    .array(endpoint)
    .max(MOST_ENDPOINTS)
    .default([])
    .superRefine((all, context) => {
      for (const [index, { name }] of all.entries()) {
        if (all.findIndex((one) => one.name === name) === index) continue;
        context.addIssue({ code: "custom", message: "is listed twice", path: [index, "url"] });
      }
    });
}

function nameOf(url: string): string {
  return `${new URL(url).host}-${createHash("sha256").update(url).digest("hex").slice(0, 8)}`;
}

/** @returns a problem for each product that an endpoint wants and the settings do not have */
export function findUnknownProducts(endpoints: readonly Endpoint[], known: readonly string[]): string[] {
  return endpoints.flatMap(({ products }, index) =>
    [...(products ?? []).entries()]
      .filter(([, one]) => !known.includes(one))
      .map(
        ([at, one]) =>
          `alerts.endpoints[${index}].products[${at}]: must be one of ${known.join(", ")} (it is ${JSON.stringify(one).slice(0, 80)})`,
      ),
  );
}

/** An endpoint with its one or two secrets. */
export interface EndpointWithSecrets extends Omit<Endpoint, "secret"> {
  readonly secrets: readonly string[];
}

/**
 * The endpoints with their secrets.
 * @param given the environment
 * @param problems the problems of an endpoint are added, with the field and never with the secret
 */
export function readEndpoints(
  endpoints: readonly Endpoint[],
  given: Readonly<Record<string, string | undefined>>,
  { path, refusesHttp }: { readonly path: string; readonly refusesHttp: (host: string) => boolean },
  problems: string[],
): EndpointWithSecrets[] {
  return endpoints.map(({ secret: names, ...endpoint }, index) => {
    const field = `${path}: alerts.endpoints[${index}]`;
    const { protocol, hostname } = new URL(endpoint.url);
    if (protocol !== "https:" && refusesHttp(hostname))
      problems.push(`${field}.url is plain http: in production events are sent over https only`);
    const secrets = names.map((name) => {
      const value = given[name];
      const checked = webhookSecret.safeParse(value);
      if (value === undefined) problems.push(`${field}.secret: the environment variable ${name} is not set`);
      else if (!checked.success)
        problems.push(`${field}.secret: ${name} ${checked.error.issues[0]?.message ?? "is not a secret"}`);
      return value ?? "";
    });
    return { ...endpoint, secrets };
  });
}
