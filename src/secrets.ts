/** The secret values of the settings, in every form in which they may occur. */

import type { Settings } from "./config.ts";
import { readDatabaseUrl } from "./database-url.ts";
import { readRedisUrl } from "./redis-url.ts";

/** Every value of the settings that no log may show. */
export function secretsOf({
  databaseUrl,
  redisUrl,
  provider,
  ops,
  callbacks,
  alerts,
  heartbeatUrl,
}: Settings): string[] {
  const secrets = ops.tokens.map(({ token }) => token);
  if (provider !== null) {
    const { username, password } = provider;
    secrets.push(password, Buffer.from(`${username}:${password}`).toString("base64"));
  }
  if (callbacks.signatureKey !== null) secrets.push(callbacks.signatureKey);
  if (alerts.webhook !== null)
    secrets.push(alerts.webhook.secret, alerts.webhook.secret.replace(/^whsec_/, ""));
  for (const url of [alerts.webhook?.url, alerts.slack?.url, heartbeatUrl]) {
    if (url != null) secrets.push(url, ...secretPartsOf(url, "whole"));
  }
  if (databaseUrl !== null) {
    const [, written = ""] = /^[^:]+:\/\/[^:@/]*:(.*)@/s.exec(databaseUrl) ?? [];
    secrets.push(written, readDatabaseUrl(databaseUrl).password);
  }
  if (redisUrl !== null) {
    const [, written = ""] = /^[^:]+:\/\/[^:@/]*:(.*)@/s.exec(redisUrl) ?? [];
    const { password = "", sentinelPassword = "" } = readRedisUrl(redisUrl);
    secrets.push(written, password, sentinelPassword);
  }
  return [...new Set(secrets)].filter((secret) => secret !== "");
}

/** Decodes a text; an invalid one stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param secret "whole": also path and query; "password": only the password */
function secretPartsOf(text: string, secret: "whole" | "password"): string[] {
  const { password, pathname, search } = new URL(text);
  const parts = [password, decode(password)];
  return secret === "password" || pathname === "/" ? parts : [...parts, `${pathname}${search}`];
}
