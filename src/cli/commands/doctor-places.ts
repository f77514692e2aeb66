/** The host, database or address of each check of `recon doctor`, so that an "ok" is about the right server. */

import { nameRedis, readRedisUrl } from "../../redis-url.ts";
import type { OpenRecon } from "../run/open.ts";

/** The checks that are about the database. */
const IN_DATABASE: ReadonlySet<string> = new Set([
  ...[
    "database",
    "migrations",
    "connections",
    "ledger",
    "money",
    "products",
    "rights",
    "entries",
    "vacuum",
    "disk",
    "books",
    "amounts",
  ],
]);

/** @returns such as `db.example:5432, database "recon"`, without a password; null: the check is about no server */
export function placeOf(check: string, { settings, context }: OpenRecon): string | null {
  const { redisUrl, provider } = settings;
  if (IN_DATABASE.has(check) || (check === "redis" && redisUrl === null)) {
    const { host, port, database } = context.sql.options;
    return `${host.map((name, index) => `${name}:${port[index] ?? port[0]}`).join(", ")}, database "${database}"`;
  }
  if (check === "redis" && redisUrl !== null) {
    const address = readRedisUrl(redisUrl);
    return `${nameRedis(address)}, database ${address.db}`;
  }
  if (provider === null || (check !== "provider" && check !== "clock")) return null;
  const { origin, pathname } = new URL(provider.baseUrl);
  return `${origin}${pathname.replace(/\/$/, "")}`;
}
