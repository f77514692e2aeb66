/** Settings: the environment and `recon.config.json`, checked whole before anything starts. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { Duration } from "luxon";
import { z } from "zod";
import { parseInstant } from "./clock.ts";
import { ReconError } from "./errors.ts";
import { parseAmount } from "./money.ts";
import { LONGEST_WINDOW_MS } from "./window.ts";

const DAY_MS = 86_400_000;
/** A thousand years: what is reckoned with it is still a time that can be written. */
const LONGEST_DURATION_MS = 365_250 * DAY_MS;

/** ISO 8601 text in, milliseconds out. */
function duration(defaultText: string) {
  return z
    .string()
    .default(defaultText)
    .transform((text, context) => {
      const parsed = Duration.fromISO(text);
      const hasLength = /^P[^-]*[WDHMS]$/.test(text) && !parsed.years && !parsed.months;
      const lengthMs = hasLength ? Math.round(parsed.toMillis()) : Number.NaN;
      if (lengthMs <= LONGEST_DURATION_MS) return lengthMs;
      context.addIssue(`must be an ISO 8601 duration of weeks, days or less such as "PT15M"`);
      return z.NEVER;
    });
}

/** Of what is done again and again, or waited for: without any length it would never end, or never begin. */
const period = (defaultText: string) =>
  duration(defaultText).refine((ms) => ms > 0, "must be longer than nothing");

const durations = (defaults: string[]) =>
  z.array(duration("PT0S")).default(() => defaults.map((text) => Duration.fromISO(text).toMillis()));

const instant = z
  .string()
  .nullable()
  .default(null)
  .transform((text, context) => {
    if (text === null) return null;
    try {
      return parseInstant(text, "it");
    } catch {
      context.addIssue("must be a date-time with an offset such as 2026-11-20T10:00:00Z");
      return z.NEVER;
    }
  });

const count = (fallback: number, most: number) => z.int().min(1).max(most).default(fallback);

const decimalText = z.string().refine((text) => {
  try {
    return parseAmount(text, "it").gte("0");
  } catch {
    return false;
  }
}, 'must be a decimal that is not negative, as text, such as "10.00"');

/** One segment of a path, so that it cannot lead anywhere else (§4.B5). */
export const TOP_UP_PATH = /^(?!\.)[\w.~-]{1,200}$/;

/** Whether both limits of windows could be read, however wrong other settings are. */
function hasLengths(pull: unknown): boolean {
  const { windowMin, windowMax } = (pull ?? {}) as Readonly<Record<string, unknown>>;
  return typeof windowMin === "number" && typeof windowMax === "number";
}

const product = z.strictObject({
  productId: z
    .string()
    .min(1)
    .refine(
      (text) => text.isWellFormed() && !/\p{Cc}/u.test(text),
      "must be text without control characters",
    ),
  walletMode: z.enum(["seamless", "transfer"]).default("seamless"),
  since: instant,
  matchBy: z
    .array(z.enum(["betId", "id", "round"]))
    .min(1)
    .default(["betId", "id", "round"]),
  settlement: z.enum(["bets", "session"]).default("bets"),
  singleState: z.boolean().default(false),
  openBetsListed: z.boolean().default(false),
  stuckOpenAfter: duration("P1D"),
  topUpPath: z
    .string()
    .regex(TOP_UP_PATH, 'must be one segment of a path such as "P1_seamless"')
    .nullable()
    .default(null),
});

/** The table that callback entries are written to. */
const OWN_LEDGER: ReadonlySet<string> = new Set(["callback_entries", "public.callback_entries"]);

/** The shape of `recon.config.json`; defaults as documented. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  products: z
    .array(product)
    .min(1)
    .superRefine(
      (products: readonly { readonly productId?: unknown }[], context) => {
        const ids = products.map((one) => one?.productId);
        for (const [index, id] of ids.entries()) {
          if (typeof id !== "string" || ids.indexOf(id) === index) continue;
          context.addIssue({ code: "custom", message: "stands twice", path: [index, "productId"] });
        }
      },
      // Also where other settings are wrong: all problems are told at once.
      { when: ({ value }) => Array.isArray(value) },
    ),
  pull: z
    .strictObject({
      every: period("PT1M"),
      windowMax: duration("PT1H").refine((ms) => ms <= LONGEST_WINDOW_MS, "must be at most an hour (PT1H)"),
      windowMin: duration("PT1M").refine((ms) => ms >= 1000, "must be at least a second (PT1S)"),
      settleDelay: duration("PT2M"),
      overlap: duration("PT5M"),
      requestTimeout: period("PT30S").refine((ms) => ms <= DAY_MS, "must be at most a day (P1D)"),
      minInterval: duration("PT0S"),
      concurrency: count(8, 256),
      maxPages: count(10_000, 1_000_000),
      attempts: count(5, 100),
      cursorMaxAge: duration("PT10M"),
      resweepAfter: durations(["PT1H", "P1D", "P3D", "P7D", "P30D"]),
    })
    .refine((pull) => pull.windowMin <= pull.windowMax, {
      message: "must not be longer than windowMax; where it is not set, it is PT1M",
      path: ["windowMin"],
      when: ({ value }) => hasLengths(value),
    })
    .prefault({}),
  diff: z
    .strictObject({
      every: period("PT1M"),
      callbackGrace: duration("PT15M"),
      providerGrace: duration("PT1H"),
      sessionQuiet: duration("PT1H"),
    })
    .prefault({}),
  verify: z
    .strictObject({
      every: period("PT10S"),
      delays: durations(["PT10S", "PT30S", "PT2M", "PT10M", "PT1H"]),
      rejectedFinalAfter: duration("PT15M"),
      recheckRejectedAfter: durations(["PT1H", "P1D"]),
      giveUpAfter: duration("P1D"),
      concurrency: count(8, 256),
    })
    .prefault({}),
  alerts: z
    .strictObject({
      every: period("PT30S"),
      incidentGap: duration("PT1H"),
      minAmount: z.record(z.string(), decimalText).default({}),
    })
    .prefault({}),
  ledger: z
    .strictObject({
      relation: z
        .string()
        .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/, 'must be a table or view such as "schema.name"')
        .nullable()
        .default(null)
        // Our own table needs no following: naming it is the same as naming none.
        .transform((name) => (name !== null && OWN_LEDGER.has(name) ? null : name)),
      since: instant,
      lookback: duration("PT15M"),
    })
    .prefault({}),
  retain: z
    .strictObject({
      recordVersions: duration("P90D"),
      rawBodies: duration("P90D"),
    })
    .prefault({}),
});

/** Checked settings of `recon.config.json`; every duration is in milliseconds. */
export type Config = z.output<typeof configSchema>;
export type ProductConfig = Config["products"][number];

const url = (protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(" or ")}`,
  });
const port = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, "must be a port from 0 to 65535")
    .transform(Number);

/** What is shorter can be guessed; for a try it will do. */
const SHORTEST_TOKEN = 16;

const opsToken = z.string().transform((text, context) => {
  const [, name, role, token] = /^([^:]+):(read|write):(.+)$/.exec(text.trim()) ?? [];
  // What "recon" resolved opens again by itself: no person may go by its name.
  if (name === "recon") {
    context.addIssue('must not be named "recon", as this program is in the history');
    return z.NEVER;
  }
  if (name !== undefined && token !== undefined && (role === "read" || role === "write")) {
    return { name, role: role as "read" | "write", token };
  }
  context.addIssue("must be name:read:token or name:write:token");
  return z.NEVER;
});

const ipRange = z.string().refine((text) => {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits < 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}, "must be IP addresses or ranges such as 203.0.113.7 or 2001:db8::/32, separated by commas");

/** Standard Webhooks: "whsec_" and random bytes in base64. */
const FEWEST_SECRET_BYTES = 24;
const webhookSecret = z.string().refine((text) => {
  const encoded = text.replace(/^whsec_/, "");
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0;
  return isBase64 && Buffer.from(encoded, "base64").length >= FEWEST_SECRET_BYTES;
}, `must be "whsec_" and at least ${FEWEST_SECRET_BYTES} random bytes in base64, as "openssl rand -base64 32" makes them`);

const environmentSchema = z.object({
  DATABASE_URL: url(["postgres:", "postgresql:"]).optional(),
  REDIS_URL: url(["redis:", "rediss:"]).optional(),
  PROVIDER_BASE_URL: url(["http:", "https:"]).optional(),
  PROVIDER_USERNAME: z.string().optional(),
  PROVIDER_PASSWORD: z.string().optional(),
  OPS_HOST: z.string().default("127.0.0.1"),
  OPS_PORT: port("3000"),
  OPS_TOKENS: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(opsToken))
    .default([]),
  CALLBACK_HOST: z.string().default("127.0.0.1"),
  CALLBACK_PORT: port("3001"),
  CALLBACK_SIGNATURE_KEY: z.string().optional(),
  CALLBACK_ALLOWED_IPS: z
    .string()
    .transform((text) => text.split(",").map((one) => one.trim()))
    .pipe(z.array(ipRange))
    .default([]),
  ALERT_WEBHOOK_URL: url(["http:", "https:"]).optional(),
  ALERT_WEBHOOK_SECRET: webhookSecret.optional(),
  ALERT_SLACK_URL: url(["http:", "https:"]).optional(),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).optional(),
  NODE_ENV: z.string().optional(),
});

/** Everything that is set from outside. */
export interface Settings {
  readonly production: boolean;
  readonly databaseUrl: string | null;
  readonly redisUrl: string | null;
  readonly provider: ProviderSettings | null;
  readonly ops: {
    readonly host: string;
    readonly port: number;
    readonly tokens: readonly { name: string; role: "read" | "write"; token: string }[];
  };
  readonly callbacks: {
    readonly host: string;
    readonly port: number;
    /** null: signatures are not asked for */
    readonly signatureKey: string | null;
    /** addresses and CIDR ranges; none: everybody may send */
    readonly allowedIps: readonly string[];
  };
  readonly alerts: AlertSettings;
  /** null: nothing is traced */
  readonly tracing: TracingSettings | null;
  readonly logLevel: string | null;
  /** null: there is no config file, which only the embedded start can do without */
  readonly config: Config | null;
}

export interface ProviderSettings {
  readonly baseUrl: string;
  readonly username: string;
  readonly password: string;
}

/** Where alerts are sent; null: not there. The URLs are as secret as the key. */
export interface AlertSettings {
  readonly webhook: { readonly url: string; readonly secret: string } | null;
  readonly slack: { readonly url: string } | null;
}

/** Where traces go is read by OpenTelemetry itself, from its own variables. */
export interface TracingSettings {
  /** null: the variables name the service */
  readonly serviceName: string | null;
}

/** Settings whose values are secret: named in an error, never shown. */
const SECRET = /PASSWORD|TOKENS|SECRET|_KEY|_URL/;

/** What a command cannot do without in production, where nothing is embedded. */
export type Need = "database" | "queue" | "provider" | "callers";
const VARIABLE_OF: Readonly<Record<Exclude<Need, "callers">, string>> = {
  database: "DATABASE_URL",
  queue: "REDIS_URL",
  provider: "PROVIDER_BASE_URL",
};

/** Either of them tells who may send callbacks. */
const CALLER_SETTINGS = ["CALLBACK_SIGNATURE_KEY", "CALLBACK_ALLOWED_IPS"];

/**
 * Reads and checks all settings.
 * @param needs what the command at hand uses; the provider brings the need of a config file with it
 * @throws ReconError `settings-invalid` that lists every problem, each with its path and value
 */
export function readSettings(needs: readonly Need[], environment: NodeJS.ProcessEnv = process.env): Settings {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const problems: string[] = [];
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) problems.push(...describeIssues(parsed.error, given, ""));
  const production = given["NODE_ENV"] === "production";

  for (const need of production ? needs : []) {
    if (need === "callers") {
      if (CALLER_SETTINGS.some((one) => given[one] !== undefined)) continue;
      problems.push(
        `${CALLER_SETTINGS.join(" and ")} are not set: in production one of them must say who may move money`,
      );
      continue;
    }
    const name = VARIABLE_OF[need];
    if (given[name] === undefined) problems.push(`${name} is not set: in production nothing is embedded`);
  }
  const asksProvider = needs.includes("provider") && (given["PROVIDER_BASE_URL"] !== undefined || production);
  if (asksProvider) {
    for (const name of ["PROVIDER_USERNAME", "PROVIDER_PASSWORD"]) {
      if (given[name] === undefined)
        problems.push(`${name} is not set: the agent API needs it (Basic authentication)`);
    }
  }

  problems.push(...alertProblems(given, production));
  if (parsed.success && production) problems.push(...tokenProblems(parsed.data.OPS_TOKENS));

  const path = given["RECON_CONFIG"] ?? "recon.config.json";
  const required =
    production || given["RECON_CONFIG"] !== undefined || given["PROVIDER_BASE_URL"] !== undefined;
  const config = readConfigFile(path, required, problems);
  const opsHost = given["OPS_HOST"];
  if (opsHost !== undefined && given["OPS_TOKENS"] === undefined && !isLoopback(opsHost)) {
    problems.push(
      `OPS_HOST is "${opsHost}", which others can reach, but OPS_TOKENS is not set: set tokens, or listen on 127.0.0.1`,
    );
  }
  if (!parsed.success || problems.length > 0) throw settingsError(problems);

  const { data } = parsed;
  return {
    production,
    databaseUrl: data.DATABASE_URL ?? null,
    redisUrl: data.REDIS_URL ?? null,
    provider:
      data.PROVIDER_BASE_URL === undefined
        ? null
        : {
            baseUrl: data.PROVIDER_BASE_URL,
            username: data.PROVIDER_USERNAME ?? "",
            password: data.PROVIDER_PASSWORD ?? "",
          },
    ops: { host: data.OPS_HOST, port: data.OPS_PORT, tokens: data.OPS_TOKENS },
    callbacks: {
      host: data.CALLBACK_HOST,
      port: data.CALLBACK_PORT,
      signatureKey: data.CALLBACK_SIGNATURE_KEY ?? null,
      allowedIps: data.CALLBACK_ALLOWED_IPS,
    },
    alerts: {
      webhook:
        data.ALERT_WEBHOOK_URL === undefined
          ? null
          : { url: data.ALERT_WEBHOOK_URL, secret: data.ALERT_WEBHOOK_SECRET ?? "" },
      slack: data.ALERT_SLACK_URL === undefined ? null : { url: data.ALERT_SLACK_URL },
    },
    tracing: readTracing(given),
    logLevel: data.LOG_LEVEL ?? null,
    config,
  };
}

/** Traced is where the standard variables say where to, and do not say otherwise. */
function readTracing(given: NodeJS.ProcessEnv): TracingSettings | null {
  const exporter = given["OTEL_TRACES_EXPORTER"];
  const endpoint = given["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? given["OTEL_EXPORTER_OTLP_ENDPOINT"];
  const isOff = given["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || exporter === "none";
  if (isOff || (exporter === undefined && endpoint === undefined)) return null;
  const isNamed =
    given["OTEL_SERVICE_NAME"] !== undefined ||
    /(^|,)\s*service\.name=/.test(given["OTEL_RESOURCE_ATTRIBUTES"] ?? "");
  return { serviceName: isNamed ? null : "wallet-recon" };
}

function alertProblems(given: NodeJS.ProcessEnv, production: boolean): string[] {
  const problems: string[] = [];
  for (const name of ["ALERT_WEBHOOK_URL", "ALERT_SLACK_URL"]) {
    const text = given[name];
    if (!production || text === undefined || !URL.canParse(text)) continue;
    const { protocol, hostname } = new URL(text);
    if (protocol === "https:" || isLoopback(hostname)) continue;
    problems.push(`${name} is plain http: in production alerts are sent over https only`);
  }
  if (given["ALERT_WEBHOOK_URL"] !== undefined && given["ALERT_WEBHOOK_SECRET"] === undefined) {
    problems.push("ALERT_WEBHOOK_SECRET is not set: what is sent to ALERT_WEBHOOK_URL is signed with it");
  }
  return problems;
}

function tokenProblems(tokens: Settings["ops"]["tokens"]): string[] {
  return tokens
    .filter(({ token }) => token.length < SHORTEST_TOKEN)
    .map(
      ({ name }) =>
        `OPS_TOKENS: the token of "${name}" has fewer than ${SHORTEST_TOKEN} characters, which can be guessed`,
    );
}

/**
 * Checks the value of a config file, or of a part of one with the defaults filled in.
 * @throws ReconError `settings-invalid` that lists every problem
 */
export function parseConfig(value: unknown): Config {
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw settingsError(describeIssues(parsed.error, value, ""));
}

function readConfigFile(path: string, required: boolean, problems: string[]): Config | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && !required) return null;
    problems.push(
      `RECON_CONFIG: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}); it must name your products`,
    );
    return null;
  }
  let value: unknown;
  try {
    // Some editors begin a file with a byte order mark, which is no JSON.
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    problems.push(`${path} is not JSON: ${(error as Error).message}`);
    return null;
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  problems.push(...describeIssues(parsed.error, value, `${path}: `));
  return null;
}

function describeIssues(error: z.ZodError, value: unknown, prefix: string): string[] {
  const problems = error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ keys: [...issue.path, key], message: `there is no setting "${key}"` }))
      : [{ keys: issue.path, message: issue.message }],
  );
  return problems.map(({ keys, message }) => {
    const path = keys
      .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
      .join("")
      .replace(/^\./, "");
    const at = keys.reduce<unknown>(lookInto, value);
    const shown = at === undefined || SECRET.test(path) ? "" : ` (it is ${JSON.stringify(at)?.slice(0, 80)})`;
    return `${prefix}${path || "the whole"}: ${message}${shown}`;
  });
}

/** A list in the environment is one text. */
function lookInto(value: unknown, key: PropertyKey): unknown {
  if (typeof value === "string") return value.split(",")[Number(key)]?.trim();
  return (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];
}

function settingsError(problems: string[]): ReconError {
  const heading = problems.length === 1 ? "a setting is wrong" : `${problems.length} settings are wrong`;
  return new ReconError(
    "settings-invalid",
    `${heading}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
  );
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
