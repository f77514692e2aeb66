/**
 * Reads DATABASE_URL for both drivers (docs/settings.md#addresses), with pg-connection-string. By itself postgres.js reads
 * `sslmode=verify-ca`, `sslrootcert` and `host=/socket` wrongly, and sends unknown parameters to the server.
 */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
} from "node:tls";
import { parse } from "pg-connection-string";
import { describeError, ReconError } from "./errors.ts";

/** A server, and how to reach and enter it. */
export interface DatabaseAddress {
  /** in the order in which they are tried; a host that begins with a slash is the folder of a socket */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** undefined: the name of the system's user */
  readonly user: string | undefined;
  readonly password: string;
  /** undefined: the name of the user */
  readonly database: string | undefined;
  /** "prefer": TLS if the server has it, without checking its certificate */
  readonly ssl: false | "prefer" | ConnectionOptions;
  readonly applicationName: string | null;
  /** start parameter `options`, such as "-c geqo=off" */
  readonly options: string | null;
  /** of the tables: lower-case letters, digits and underscores */
  readonly schema: string;
  readonly connectSeconds: number;
  readonly target: TargetSession | undefined;
}

const TARGETS = ["read-write", "read-only", "primary", "standby", "prefer-standby"] as const;
type TargetSession = (typeof TARGETS)[number];

const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = "public";
const CONNECT_SECONDS = 10;

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
/** Other drivers' names of a mode, and values of `ssl`. */
const MODE_OF: Readonly<Record<string, string>> = {
  true: "verify-full",
  "1": "verify-full",
  false: "disable",
  "0": "disable",
  "no-verify": "require",
};

const READ = new Set([
  ...["host", "port", "user", "password", "dbname", "ssl", "sslmode", "sslrootcert", "sslcert", "sslkey"],
  ...["channel_binding", "application_name", "fallback_application_name", "target_session_attrs"],
  ...["connect_timeout", "options", "schema"],
]);
/** Parameters of libpq that change nothing here: the drivers always do this, or never. */
const WITHOUT_EFFECT = new Set([
  ...["client_encoding", "gssencmode", "keepalives", "keepalives_idle", "keepalives_interval"],
  ...["keepalives_count", "load_balance_hosts", "sslsni", "sslcompression", "tcp_user_timeout"],
]);

/**
 * Reads the forms of libpq: several hosts, sockets, TLS with files of certificates.
 * @throws ReconError `settings-invalid` that names the wrong part, never the password
 */
export function readDatabaseUrl(text: string): DatabaseAddress {
  const { url, hosts: named } = splitHosts(text);
  const parameters = new Map(parametersOf(url));
  for (const name of parameters.keys()) {
    if (!READ.has(name) && !WITHOUT_EFFECT.has(name)) throw unknown(name);
  }
  const mode = modeOf(parameters);
  const config = parseWith(url, mode, parameters);
  const target = parameters.get("target_session_attrs");
  if (target !== undefined && target !== "any" && !isTarget(target))
    throw wrong(`target_session_attrs must be one of any, ${TARGETS.join(", ")}, but is "${target}"`);
  const hosts = hostsOf(parameters, named, config.host ?? "");
  const isLocal = hosts.every(({ host }) => host.startsWith("/"));
  return {
    hosts,
    user: parameters.get("user") ?? (config.user || undefined),
    password: parameters.get("password") ?? config.password ?? "",
    database: parameters.get("dbname") ?? config.database ?? undefined,
    ssl: isLocal ? false : tlsOf(mode, config.ssl, hosts),
    applicationName:
      parameters.get("application_name") ?? parameters.get("fallback_application_name") ?? null,
    options: parameters.get("options") ?? null,
    schema: schemaOf(parameters.get("schema")),
    connectSeconds: secondsOf(parameters.get("connect_timeout")),
    target: isTarget(target) ? target : hosts.length > 1 && target === undefined ? "read-write" : undefined,
  };
}

/** The same URL with DATABASE_SCHEMA as parameter `schema`, as Prisma writes it. If the URL has one already, the last one counts. */
export function inSchema(url: string, schema: string | null): string {
  return schema === null ? url : `${url}${url.includes("?") ? "&" : "?"}schema=${schema}`;
}

/** Names that need no quotes. PostgreSQL keeps those that begin with "pg_", and BullMQ has its own. */
export const SCHEMA_RULE =
  "must be lower-case letters, digits and underscores, and not PostgreSQL's own or bullmq";

export function isSchemaName(name: string): boolean {
  return /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(name) && name !== "information_schema" && name !== "bullmq";
}

/** A warning about a valid URL; null: there is none. */
export function warnOfDatabaseUrl(text: string): string | null {
  const parameters = new Map(parametersOf(splitHosts(text).url));
  if (parameters.get("channel_binding") !== "require" || modeOf(parameters) === "verify-full") return null;
  return "DATABASE_URL asks for channel_binding=require, which wallet-recon does not support: use sslmode=verify-full, which proves the identity of the server as well";
}

/** `postgres://a:1,b:2/name` is no valid URL. Reads the hosts, and leaves a placeholder. Errors show no part of a password. */
function splitHosts(text: string): { url: string; hosts: { host: string; port: string }[] } {
  const [, head, authority = "", tail = ""] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text) ?? [];
  if (head === undefined) throw wrong("must be a URL that begins with postgres:// or postgresql://");
  const path = tail.replace(/\?.*$/s, "");
  if (path.includes("#") || path.includes("@") || /%(?![0-9a-f]{2})/i.test(authority + path))
    throw wrong(`it cannot be read: ${HOW_TO_ENCODE}`);
  const at = authority.lastIndexOf("@") + 1;
  const named = readHosts(authority.slice(at));
  if (named === null) throw wrong(`a host or a port cannot be read: ${HOW_TO_ENCODE}`);
  const hosts = named.map(({ host, port }) => ({ host: decodeURIComponent(host), port }));
  const user = authority.slice(0, at).replaceAll(" ", "%20");
  return {
    url: `${head}${user}${hosts.length > 1 ? "host" : authority.slice(at).replace(/:\d*$/, "")}${tail}`,
    hosts,
  };
}

function parametersOf(url: string): [string, string][] {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  return [...new URLSearchParams(query)];
}

function modeOf(parameters: ReadonlyMap<string, string>): string {
  if (parameters.get("sslrootcert") === "system") return "verify-full";
  const given = parameters.get("sslmode") ?? parameters.get("ssl");
  if (given === undefined) {
    if (parameters.has("sslrootcert")) return "verify-full";
    return parameters.has("sslcert") ? "require" : "disable";
  }
  const mode = MODE_OF[given] ?? given;
  if (!MODES.includes(mode)) throw wrong(`sslmode must be one of ${MODES.join(", ")}, but is "${given}"`);
  // As libpq does: a given authority is used.
  return mode === "require" && parameters.has("sslrootcert") ? "verify-ca" : mode;
}

function parseWith(url: string, mode: string, parameters: ReadonlyMap<string, string>) {
  const files = (["sslrootcert", "sslcert", "sslkey"] as const).flatMap((name) => {
    const path = parameters.get(name);
    return path === undefined || path === "system" ? [] : [{ name, path }];
  });
  for (const { name, path } of files) {
    try {
      readFileSync(path);
    } catch (error) {
      throw wrong(`${name} names ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  const kept = new URLSearchParams(files.map(({ name, path }): [string, string] => [name, path]));
  if (mode !== "allow") kept.set("sslmode", mode);
  if (mode === "verify-ca" && !kept.has("sslrootcert")) {
    throw wrong("sslmode=verify-ca needs sslrootcert, the file of the authority; or use verify-full");
  }
  try {
    return parse(`${url.replace(/[?#].*$/s, "")}?${kept}`, { useLibpqCompat: true });
  } catch (error) {
    throw wrong(`it cannot be read (${describeError(error)}): ${HOW_TO_ENCODE}`);
  }
}

function hostsOf(
  parameters: ReadonlyMap<string, string>,
  named: readonly { host: string; port: string }[],
  parsedHost: string,
): DatabaseAddress["hosts"] {
  const given = parameters.get("host")?.split(",");
  const ports = parameters.get("port")?.split(",") ?? named.map(({ port }) => port);
  const names = given ?? (named.length > 1 ? named.map(({ host }) => host) : [parsedHost]);
  if (ports.length > 1 && ports.length !== names.length)
    throw wrong(`it names ${names.length} hosts and ${ports.length} ports`);
  return names.map((host, index) => {
    const port = ports.length > 1 ? ports[index] : ports[0];
    if (port !== undefined && port !== "" && !(/^\d{1,5}$/.test(port) && Number(port) < 65_536))
      throw wrong(`"${port}" is not a port`);
    return { host: host === "" ? "localhost" : host, port: Number(port || DEFAULT_PORT) };
  });
}

function tlsOf(mode: string, parsed: unknown, hosts: DatabaseAddress["hosts"]): DatabaseAddress["ssl"] {
  if (mode === "disable") return false;
  if (mode === "allow" || mode === "prefer") return "prefer";
  const options = typeof parsed === "object" && parsed !== null ? (parsed as ConnectionOptions) : {};
  refuseUnusable(options);
  return mode === "verify-full" ? { ...options, checkServerIdentity: identityOf(hosts) } : options;
}

/** Checks the files of certificates now. Otherwise every connection would fail with a message of OpenSSL. */
function refuseUnusable(options: ConnectionOptions): void {
  if ((options.cert === undefined) !== (options.key === undefined))
    throw wrong("sslcert and sslkey belong together: name the certificate and its key");
  try {
    createSecureContext(options);
  } catch (error) {
    const [why] = describeError(error).split("::").slice(-1);
    throw wrong(`sslrootcert, sslcert or sslkey cannot be used: ${why}`);
  }
}

/** The name that Node checks if none is given. Both drivers give none for an IP address. */
const NO_NAME = "localhost";

/** Checks the address if the host is an IP. If there are several such hosts, the certificate may be for any of them. */
function identityOf(hosts: DatabaseAddress["hosts"]) {
  return (name: string, certificate: PeerCertificate): Error | undefined => {
    const names = hosts.map(({ host }) => host).filter((host) => isIP(host) !== 0 || host === NO_NAME);
    const asked = name === NO_NAME && names.length > 0 ? names : [name];
    const problems = asked.map((one) => checkServerIdentity(one, certificate));
    return problems.includes(undefined) ? undefined : problems[0];
  };
}

function schemaOf(name = DEFAULT_SCHEMA): string {
  if (!isSchemaName(name)) throw wrong(`schema is "${name}", but ${SCHEMA_RULE}`);
  return name;
}

function secondsOf(text: string | undefined): number {
  if (text === undefined) return CONNECT_SECONDS;
  if (!/^\d{1,4}$/.test(text)) throw wrong(`connect_timeout is "${text}", which is not a number of seconds`);
  return Number(text) || CONNECT_SECONDS;
}

function isTarget(text: string | undefined): text is TargetSession {
  return TARGETS.some((one) => one === text);
}

function unknown(name: string): ReconError {
  return wrong(
    `the parameter "${name}" is not known. Remove it, or pass a setting of PostgreSQL as options=-c%20${name}%3D…`,
  );
}

function wrong(problem: string): ReconError {
  return new ReconError("settings-invalid", `DATABASE_URL: ${problem}`);
}

/** What an operator must do if an address cannot be read. */
export const HOW_TO_ENCODE = "in a user or a password write % as %25, @ as %40, # as %23, / as %2F, ? as %3F";

/** @returns the hosts without the brackets of IPv6, with "" for what is not named; null: one cannot be read */
export function readHosts(list: string): { readonly host: string; readonly port: string }[] | null {
  const hosts = list.split(",").map((place) => {
    const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(place) ?? [];
    return host === undefined ? null : { host: host.replace(/^\[(.*)\]$/, "$1"), port };
  });
  return hosts.some((one) => one === null) ? null : hosts.filter((one) => one !== null);
}
