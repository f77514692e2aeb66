/** Reads REDIS_URL (docs/settings.md#addresses). */

import { HOW_TO_ENCODE, readHosts } from "./database-url.ts";
import { ReconError } from "./errors.ts";

export interface RedisAddress {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** the name of the master, for which the hosts are asked as sentinels; null: the one host is Redis */
  readonly master: string | null;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelPassword: string | undefined;
  readonly db: number;
}

const FORMS =
  "redis://[user:password@]host:6379[/0], rediss:// for TLS, or redis+sentinel://[user:password@]host:26379,host:26379/master[/0]";

/** @throws ReconError `settings-invalid`, which shows no part of the password */
export function readRedisUrl(text: string): RedisAddress {
  const [, scheme, tail = ""] =
    /^(redis|rediss|redis\+sentinel|rediss\+sentinel):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined) throw wrong(`must be ${FORMS}`);
  const [, authority = "", path = "", query = ""] = /^([^/?#]*)([^?#]*)(?:\?([^#]*))?$/.exec(tail) ?? [];
  if ((authority === "" && tail !== "") || path.includes("@"))
    throw wrong(`cannot be read: ${HOW_TO_ENCODE}`);
  const at = authority.lastIndexOf("@") + 1;
  const [username = "", ...secret] = authority.slice(0, Math.max(0, at - 1)).split(":");
  const isSentinel = scheme.endsWith("+sentinel");
  const named = readHosts(authority.slice(at));
  if (named === null || named.some(({ port }) => port.length > 5))
    throw wrong("has a host or a port that cannot be read");
  const hosts = named.map(({ host, port }) => ({
    host: host || "127.0.0.1",
    port: Number(port || (isSentinel ? 26_379 : 6_379)),
  }));
  const parts = path.split("/").slice(1).map(decode);
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => name !== "sentinel_password");
  if (unknown !== undefined) throw wrong(`has the parameter "${unknown}", which is not known`);
  const master = isSentinel ? (parts.shift() ?? "") : null;
  if (master === "") throw wrong("names no master: redis+sentinel://host:26379/master");
  if (!isSentinel && hosts.length > 1)
    throw wrong(
      "names several hosts: Redis Cluster is not supported. Use one Redis, or sentinels with redis+sentinel://",
    );
  const db = parts[0] || "0";
  if (!/^\d{1,4}$/.test(db)) throw wrong(`has "${db}" as database, which is not a number`);
  return {
    hosts,
    master,
    tls: scheme.startsWith("rediss"),
    username: decode(username) || undefined,
    password: secret.length === 0 ? undefined : decode(secret.join(":")),
    sentinelPassword: parameters.get("sentinel_password") ?? undefined,
    db: Number(db),
  };
}

/** "redis.example:6379", or every sentinel with the name of the master */
export function nameRedis({ hosts, master }: RedisAddress): string {
  const list = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(",");
  return master === null ? list : `${list} (sentinels of ${master})`;
}

/** A text with a % that begins no escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function wrong(problem: string): ReconError {
  return new ReconError("settings-invalid", `REDIS_URL: ${problem}`);
}
