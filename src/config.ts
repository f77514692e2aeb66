/** The settings: the environment and the config file, checked completely before anything starts. */

import { type Config, readConfigFile } from "./config-file.ts";
import { type EndpointWithSecrets, readEndpoints } from "./endpoints.ts";
import { type Environment, environmentSchema } from "./environment.ts";
import { ReconError } from "./errors.ts";
import type { Role, RoleName } from "./roles.ts";
import { describeIssues, settingsError } from "./settings-problems.ts";

/** All settings. */
export interface Settings {
  readonly production: boolean;
  readonly databaseUrl: string | null;
  /** null: the one that the URL names, or "public" */
  readonly databaseSchema: string | null;
  /** connections of a process, divided by `openPools` */
  readonly databasePool: number;
  /** what the database may take, in bytes; null: unknown */
  readonly databaseDisk: number | null;
  readonly redisUrl: string | null;
  /** of all keys in Redis */
  readonly redisPrefix: string;
  readonly provider: ProviderSettings | null;
  readonly ops: {
    readonly host: string;
    readonly port: number;
    readonly tokens: readonly { name: string; role: RoleName; token: string }[];
    /** null or absent: no proxy signs users in */
    readonly proxies?: ProxySignIn | null;
    /** its address for links; absent: the address on which it listens */
    readonly publicUrl?: string | undefined;
  };
  readonly callbacks: {
    readonly host: string;
    readonly port: number;
    /** the path before the callbacks' names: "/api/callback"; empty: the root */
    readonly basePath: string;
    /** null: the server checks no signatures */
    readonly signatureKey: string | null;
    /** addresses and CIDR ranges; empty: every address may send */
    readonly allowedIps: readonly string[];
  };
  readonly alerts: AlertSettings;
  /** requested every minute while all work continues; a secret; null: no heartbeat */
  readonly heartbeatUrl: string | null;
  /** null: no traces */
  readonly tracing: TracingSettings | null;
  readonly logLevel: string | null;
  /** null: there is no config file; only the embedded start works without one */
  readonly config: Config | null;
}

export interface ProviderSettings {
  readonly baseUrl: string;
  readonly username: string;
  readonly password: string;
}

/** How proxies in front of the ops server say who signed in. */
export interface ProxySignIn {
  /** addresses and CIDR ranges of the proxies */
  readonly addresses: readonly string[];
  /** names of headers, in small letters; null: the proxies name no groups */
  readonly userHeader: string;
  readonly groupsHeader: string | null;
  /** the group "*" is everybody who signed in */
  readonly roles: readonly { readonly group: string; readonly role: Role }[];
}

/** The channels of alerts; null: not configured. The URLs are secrets. */
export interface AlertSettings {
  readonly webhook: { readonly url: string; readonly secret: string } | null;
  readonly slack: { readonly url: string } | null;
  /** absent: none, or the command sends no alert */
  readonly endpoints?: readonly EndpointWithSecrets[];
}

/** Settings of traces. OpenTelemetry reads their destination from its own variables. */
export interface TracingSettings {
  /** null: the variables name the service */
  readonly serviceName: string | null;
}

/**
 * What a command needs in production, which embeds nothing. "alerts": the secrets of the endpoints, of which other commands know
 * nothing, in production or not. "tap": the command runs without a config file, because a fault
 * of that file must not stop a proxy in the path of money.
 */
export type Need = "database" | "queue" | "provider" | "ops" | "callers" | "tap" | "alerts";
const VARIABLE_OF: Readonly<Record<Exclude<Need, "ops" | "callers" | "tap" | "alerts">, string>> = {
  database: "DATABASE_URL",
  queue: "REDIS_URL",
  provider: "PROVIDER_BASE_URL",
};

/** The shortest key in production: an attacker with one signed callback could try short keys offline. */
const SHORTEST_SIGNATURE_KEY = 16;

/** The settings that restrict who may send callbacks. One of them suffices. */
const CALLER_SETTINGS = ["CALLBACK_SIGNATURE_KEY", "CALLBACK_ALLOWED_IPS"];

/**
 * Reads and checks all settings.
 * @param needs what the present command needs
 * @throws ReconError `settings-invalid` that lists every problem, each with its path and value
 */
export function readSettings(needs: readonly Need[], environment: NodeJS.ProcessEnv = process.env): Settings {
  // A secret that was made with "echo" ends with a line break.
  const given = Object.fromEntries(
    Object.entries(environment)
      .map(([name, value]): [string, string | undefined] => [name, value?.replace(/[\r\n]+$/, "")])
      .filter(([, value]) => value !== ""),
  );
  const problems: string[] = [];
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) problems.push(...describeIssues(parsed.error, given, ""));
  // "Production" or a space behind it must not switch the guards off.
  const production = given["NODE_ENV"]?.trim().toLowerCase() === "production";

  problems.push(...(production ? needs.flatMap((need) => problemsOfNeed(need, given)) : []));
  problems.push(...providerProblems(needs, given, production));
  problems.push(...alertProblems(given, production));
  problems.push(...proxyProblems(given));
  if (parsed.success && production) problems.push(...tokenProblems(parsed.data.OPS_TOKENS));

  const path = configPath(given);
  const required =
    production || given["RECON_CONFIG"] !== undefined || given["PROVIDER_BASE_URL"] !== undefined;
  const config = needs.includes("tap") ? null : readConfigFile(path, required, problems);
  const asked = needs.includes("alerts") ? (config?.alerts.endpoints ?? []) : [];
  const refusesHttp = (host: string) => production && !isLoopback(host);
  const endpoints = readEndpoints(asked, given, { path, refusesHttp }, problems);
  problems.push(...signInProblems(given));
  const opsHost = given["OPS_HOST"];
  const isSaid = production && needs.includes("ops");
  if (opsHost !== undefined && !hasAccessRules(given) && !isLoopback(opsHost) && !isSaid) {
    problems.push(
      `OPS_HOST is "${opsHost}", which others can reach, but OPS_TOKENS is not set: set tokens or OPS_TRUSTED_PROXIES, or listen on 127.0.0.1`,
    );
  }
  if (!parsed.success || problems.length > 0) throw settingsError(problems);

  const settings = settingsOf(parsed.data, { production, tracing: readTracing(given), config });
  return endpoints.length === 0 ? settings : { ...settings, alerts: { ...settings.alerts, endpoints } };
}

/** Where the config file is. */
export function configPath(environment: NodeJS.ProcessEnv = process.env): string {
  return environment["RECON_CONFIG"] || "recon.config.json";
}

/**
 * What a worker in production would miss or refuse in the settings.
 * @returns a line for each problem, as `readSettings` says it
 */
export function findMissingSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  try {
    readSettings(["database", "queue", "provider", "ops"], { ...environment, NODE_ENV: "production" });
    return [];
  } catch (error) {
    if (!(error instanceof ReconError) || error.code !== "settings-invalid") throw error;
    const [, ...problems] = error.message.split("\n");
    return problems.map((line) => line.trim());
  }
}

function settingsOf(
  data: Environment,
  others: Pick<Settings, "production" | "tracing" | "config">,
): Settings {
  return {
    ...others,
    databaseUrl: data.DATABASE_URL ?? null,
    databaseSchema: data.DATABASE_SCHEMA ?? null,
    databasePool: data.DATABASE_POOL,
    databaseDisk: data.DATABASE_DISK ?? null,
    redisUrl: data.REDIS_URL ?? null,
    redisPrefix: data.REDIS_PREFIX,
    provider:
      data.PROVIDER_BASE_URL === undefined
        ? null
        : {
            baseUrl: data.PROVIDER_BASE_URL,
            username: data.PROVIDER_USERNAME ?? "",
            password: data.PROVIDER_PASSWORD ?? "",
          },
    ops: {
      host: data.OPS_HOST,
      port: data.OPS_PORT,
      tokens: data.OPS_TOKENS,
      proxies:
        data.OPS_TRUSTED_PROXIES === undefined
          ? null
          : {
              addresses: data.OPS_TRUSTED_PROXIES,
              userHeader: data.OPS_USER_HEADER ?? "",
              groupsHeader: data.OPS_GROUPS_HEADER ?? null,
              roles: data.OPS_ROLES ?? [],
            },
      publicUrl: data.OPS_PUBLIC_URL?.replace(/\/+$/, ""),
    },
    callbacks: {
      host: data.CALLBACK_HOST,
      port: data.CALLBACK_PORT,
      basePath: data.CALLBACK_BASE_PATH,
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
    heartbeatUrl: data.HEARTBEAT_URL ?? null,
    logLevel: data.LOG_LEVEL ?? null,
  };
}

/** Tracing is on if OpenTelemetry's standard variables name an exporter or an endpoint, and do not turn it off. */
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

/** The proxies of the environment, in both spellings that programs use. */
export function readProxies(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = environment[name.toLowerCase()] || environment[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
}

function proxyProblems(given: NodeJS.ProcessEnv): string[] {
  const { NO_PROXY: _, ...proxies } = readProxies(given);
  const canUse = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
  return Object.entries(proxies).flatMap(([name, value]) => {
    if (!URL.canParse(value) || !["http:", "https:"].includes(new URL(value).protocol))
      return [`${name}: must be a URL that begins with http:// or https://`];
    return canUse
      ? []
      : [
          `${name} is set, but this Node (${process.version}) cannot use a proxy: use Node 22.21, 24.5 or newer`,
        ];
  });
}

/** What is missing in production for what a command needs. */
function problemsOfNeed(need: Need, given: NodeJS.ProcessEnv): string[] {
  if (need === "tap" || need === "alerts") return [];
  if (need === "ops") {
    if (hasAccessRules(given)) return [];
    return [
      'OPS_TOKENS is not set: in production the dashboard and the API need tokens, because a proxy on this machine would let everyone in. Set name:write:token, with a token from "openssl rand -hex 32"',
    ];
  }
  if (need !== "callers") {
    const name = VARIABLE_OF[need];
    return given[name] === undefined ? [`${name} is not set: in production nothing is embedded`] : [];
  }
  const areRestricted = CALLER_SETTINGS.some((one) => given[one] !== undefined);
  return [
    ...signatureKeyProblems(given["CALLBACK_SIGNATURE_KEY"]),
    ...(areRestricted
      ? []
      : [
          `${CALLER_SETTINGS.join(" and ")} are not set: in production set one of them, because callbacks move money`,
        ]),
  ];
}

function providerProblems(needs: readonly Need[], given: NodeJS.ProcessEnv, production: boolean): string[] {
  if (!needs.includes("provider") || (given["PROVIDER_BASE_URL"] === undefined && !production)) return [];
  return ["PROVIDER_USERNAME", "PROVIDER_PASSWORD"]
    .filter((name) => given[name] === undefined)
    .map((name) => `${name} is not set: the agent API needs it (Basic authentication)`);
}

/** Whether the ops server knows who asks. Without, it serves this machine only. */
function hasAccessRules(given: NodeJS.ProcessEnv): boolean {
  return given["OPS_TOKENS"] !== undefined || given["OPS_TRUSTED_PROXIES"] !== undefined;
}

function signInProblems(given: NodeJS.ProcessEnv): string[] {
  const roles = (given["OPS_ROLES"] ?? "").split(",").map((one) => one.trim());
  const isGroupNamed = roles.some((one) => one !== "" && !one.startsWith("*:"));
  if (given["OPS_TRUSTED_PROXIES"] === undefined) {
    return ["OPS_USER_HEADER", "OPS_GROUPS_HEADER", "OPS_ROLES"]
      .filter((name) => given[name] !== undefined)
      .map((name) => `${name} is set, but OPS_TRUSTED_PROXIES is not: name the addresses of the proxy`);
  }
  return [
    ["OPS_USER_HEADER", "the header in which the proxy names the user, such as X-Forwarded-User"],
    ["OPS_ROLES", "who may do what: group:role, or *:role for everybody who signed in at the proxy"],
    ...(isGroupNamed
      ? [["OPS_GROUPS_HEADER", "the header in which the proxy names groups, for OPS_ROLES"]]
      : []),
  ].flatMap(([name = "", what]) =>
    given[name] === undefined ? [`${name} is not set: with OPS_TRUSTED_PROXIES it is needed: ${what}`] : [],
  );
}

function alertProblems(given: NodeJS.ProcessEnv, production: boolean): string[] {
  const problems: string[] = [];
  for (const name of ["ALERT_WEBHOOK_URL", "ALERT_SLACK_URL", "HEARTBEAT_URL"]) {
    const text = given[name];
    if (!production || text === undefined || !URL.canParse(text)) continue;
    const { protocol, hostname } = new URL(text);
    if (protocol === "https:" || isLoopback(hostname)) continue;
    const what = name === "HEARTBEAT_URL" ? "the heartbeat is" : "alerts are";
    problems.push(`${name} is plain http: in production ${what} sent over https only`);
  }
  if (given["ALERT_WEBHOOK_URL"] !== undefined && given["ALERT_WEBHOOK_SECRET"] === undefined) {
    problems.push("ALERT_WEBHOOK_SECRET is not set: it signs the alerts that are sent to ALERT_WEBHOOK_URL");
  }
  return problems;
}

function signatureKeyProblems(key: string | undefined): string[] {
  if (key === undefined || key.length >= SHORTEST_SIGNATURE_KEY) return [];
  return [
    `CALLBACK_SIGNATURE_KEY has fewer than ${SHORTEST_SIGNATURE_KEY} characters, and can be guessed: agree on a longer key with the provider, for example from "openssl rand -base64 32"`,
  ];
}

/** In production a shorter token is refused, because it can be guessed. */
const SHORTEST_TOKEN = 16;

function tokenProblems(tokens: Settings["ops"]["tokens"]): string[] {
  return tokens
    .filter(({ token }) => token.length < SHORTEST_TOKEN)
    .map(
      ({ name }) =>
        `OPS_TOKENS: the token of "${name}" has fewer than ${SHORTEST_TOKEN} characters, and can be guessed`,
    );
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
