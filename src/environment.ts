/** The environment variables of the settings, each checked by itself. */

import { isIP } from "node:net";
import { z } from "zod";
import { parseBytes } from "./bytes.ts";
import { isSchemaName, readDatabaseUrl, SCHEMA_RULE } from "./database-url.ts";
import { describeError } from "./errors.ts";
import { readRedisUrl } from "./redis-url.ts";
import { ROLE_NAMES, ROLES, type Role, type RoleName } from "./roles.ts";

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

const opsToken = z.string().transform((text, context) => {
  const [, name, role, token] = /^([^:]+):([a-z]+):(.+)$/.exec(text.trim()) ?? [];
  // No person may be named "recon": mismatches that "recon" resolved open again by themselves.
  if (name === "recon") {
    context.addIssue('must not be named "recon": that is the name of this program in the history');
    return z.NEVER;
  }
  const known = ROLE_NAMES.find((one) => one === role);
  if (name !== undefined && token !== undefined && known !== undefined) {
    return { name, role: known as RoleName, token };
  }
  context.addIssue(`must be name:role:token, with a role of ${ROLE_NAMES.join(", ")}`);
  return z.NEVER;
});

const roleOfGroup = z.string().transform((text, context) => {
  const [, group, role] = /^(.+):([a-z]+)$/.exec(text.trim()) ?? [];
  const known = ROLES.find((one) => one === role);
  if (group !== undefined && known !== undefined) return { group, role: known as Role };
  context.addIssue(`must be group:role, with a role of ${ROLES.join(", ")}`);
  return z.NEVER;
});

/** Headers that a browser or a program sends itself name no user of a proxy. */
const OF_CLIENTS = /^(authorization|cookie|host|origin|referer|user-agent|accept.*|content-.*|sec-.*)$/;
const userHeader = z
  .string()
  .transform((text) => text.trim().toLowerCase())
  .refine(
    (name) => /^[a-z0-9-]{1,100}$/.test(name) && !OF_CLIENTS.test(name),
    "must be the name of a header that the proxy sets, such as X-Forwarded-User",
  );

const ipRange = z.string().refine((text) => {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits < 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}, "must be IP addresses or ranges such as 203.0.113.7 or 2001:db8::/32, separated by commas");

/** Standard Webhooks: "whsec_" and random bytes in base64. */
const FEWEST_SECRET_BYTES = 24;
export const webhookSecret = z.string().refine((text) => {
  const encoded = text.replace(/^whsec_/, "");
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0;
  return isBase64 && Buffer.from(encoded, "base64").length >= FEWEST_SECRET_BYTES;
}, `must be "whsec_" and at least ${FEWEST_SECRET_BYTES} random bytes in base64, as from "openssl rand -base64 32"`);

const basePath = z
  .string()
  .regex(
    /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+){1,20}$/,
    "must be a path such as /api/callback: it begins with a slash, ends without one, and its parts have only letters, digits and - _ . ~",
  );

const address = (read: (text: string) => unknown) =>
  z.string().superRefine((text, context) => {
    try {
      read(text);
    } catch (error) {
      context.addIssue(describeError(error).replace(/^\w+_URL: /, ""));
    }
  });
const databaseUrl = address(readDatabaseUrl);
const redisUrl = address(readRedisUrl);

/** A variable that is set to nothing counts as not set, and must be left out. */
export const environmentSchema = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL: z
    .string()
    .default("20")
    .refine(
      (text) => /^\d{1,3}$/.test(text) && Number(text) >= 4 && Number(text) <= 500,
      "must be a number of connections from 4 to 500",
    )
    .transform(Number),
  DATABASE_SCHEMA: z.string().refine(isSchemaName, SCHEMA_RULE).optional(),
  DATABASE_DISK: z
    .string()
    .transform((text, context) => {
      const bytes = parseBytes(text);
      if (bytes === null) context.addIssue("must be an amount of data such as 500GB or 2TiB");
      return bytes ?? z.NEVER;
    })
    .optional(),
  REDIS_URL: redisUrl.optional(),
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,60}$/, "must be at most 60 letters, digits, dots, underscores and hyphens")
    .default("bull"),
  PROVIDER_BASE_URL: url(["http:", "https:"]).optional(),
  PROVIDER_USERNAME: z.string().optional(),
  PROVIDER_PASSWORD: z.string().optional(),
  OPS_HOST: z.string().default("127.0.0.1"),
  OPS_PORT: port("3000"),
  OPS_PUBLIC_URL: url(["http:", "https:"]).optional(),
  OPS_TOKENS: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(opsToken))
    .default([]),
  OPS_TRUSTED_PROXIES: z
    .string()
    .transform((text) => text.split(",").map((one) => one.trim()))
    .pipe(z.array(ipRange.refine((text) => !text.endsWith("/0"), "must not trust every address")))
    .optional(),
  OPS_USER_HEADER: userHeader.optional(),
  OPS_GROUPS_HEADER: userHeader.optional(),
  OPS_ROLES: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(roleOfGroup))
    .optional(),
  CALLBACK_HOST: z.string().default("127.0.0.1"),
  CALLBACK_PORT: port("3001"),
  CALLBACK_BASE_PATH: basePath.default(""),
  CALLBACK_SIGNATURE_KEY: z.string().optional(),
  CALLBACK_ALLOWED_IPS: z
    .string()
    .transform((text) => text.split(",").map((one) => one.trim()))
    .pipe(z.array(ipRange))
    .default([]),
  ALERT_WEBHOOK_URL: url(["http:", "https:"]).optional(),
  ALERT_WEBHOOK_SECRET: webhookSecret.optional(),
  ALERT_SLACK_URL: url(["http:", "https:"]).optional(),
  HEARTBEAT_URL: url(["http:", "https:"]).optional(),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).optional(),
  NODE_ENV: z.string().optional(),
});

export type Environment = z.infer<typeof environmentSchema>;
