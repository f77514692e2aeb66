import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readSettings } from "../src/config.ts";
import { configSchema, parseConfig } from "../src/config-file.ts";

test("only the product ids are required; every other setting has its documented default", () => {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  expect(config.products[0]).toEqual({
    productId: "P1",
    walletMode: "seamless",
    since: null,
    matchBy: ["betId", "id", "round"],
    settlement: "bets",
    singleState: false,
    openBetsListed: false,
    stuckOpenAfter: 86_400_000,
    topUpPath: null,
    lostBets: "written",
    nominalStakes: false,
    ledgerSince: null,
  });
  expect(config.pull).toMatchObject({ every: 60_000, windowMax: 3_598_000, windowMin: 60_000, attempts: 5 });
  expect(config.diff).toMatchObject({ callbackGrace: 900_000, providerGrace: 3_600_000, tolerance: {} });
  expect(config.verify.notFoundCodes).toEqual([5004]);
  expect(config.ledger.rowsChange).toBe("never");
});

test.each([
  [{ diff: { tolerance: { THB: "-0.01" } } }, "diff.tolerance.THB: must be a decimal that is not negative"],
  [{ diff: { tolerance: { THB: 0.01 } } }, "diff.tolerance.THB: "],
  [{ diff: { tolerance: { THB: "a cent" } } }, "diff.tolerance.THB: must be a decimal"],
  [
    { diff: { tolerance: { thb: "0.01" } } },
    "diff.tolerance.thb: must be a currency code in capital letters",
  ],
  [{ diff: { tolerance: { "": "0.01" } } }, "diff.tolerance."],
  [{ diff: { tolerance: "0.01" } }, "diff.tolerance: "],
  [{ verify: { notFoundCodes: [0] } }, "verify.notFoundCodes[0]: 0 means success"],
  [{ verify: { notFoundCodes: ["5004"] } }, "verify.notFoundCodes[0]: "],
  [{ products: [{ productId: "P1", lostBets: "sometimes" }] }, "products[0].lostBets: "],
  [
    { products: [{ productId: "P1", ledgerSince: "2026-11-20" }] },
    "products[0].ledgerSince: must be a date-time",
  ],
  [{ ledger: { rowsChange: "keep" } }, "ledger.rowsChange: "],
])("%j is a wrong setting, and the error names its path", (config, expected) => {
  expect(errorOf(config)).toContain(`\n  ${expected}`);
});

test("the error names all problems at once, each with its path and value", () => {
  const wrong = {
    products: [{ productId: "P1", since: "yesterday" }, { productId: "P1" }],
    pull: { every: "1m", windowMin: "PT0.5S", concurrency: 0 },
    ledger: { relation: "x; drop table y" },
    unheard: 1,
  };
  expect(() => parseConfig(wrong)).toThrow(
    expect.objectContaining({
      code: "settings-invalid",
      message: expect.stringMatching(
        /products\[0\]\.since: .*\(it is "yesterday"\)[\s\S]*pull\.every: .*\(it is "1m"\)[\s\S]*pull\.windowMin: must be at least a second[\s\S]*pull\.concurrency[\s\S]*ledger\.relation[\s\S]*"unheard"/,
      ),
    }),
  );
});

/** @returns the errors of this config, with one product added if it has none */
function errorOf(config: object): string {
  try {
    parseConfig({ products: [{ productId: "P1" }], ...config });
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test.each(["P", "PT", "P1DT", "P1M", "P1Y", "-PT1M", "PT-1M", "pt15m", "15", 15, "", "P99999999999D"])(
  "%j is no duration",
  (callbackGrace) => {
    expect(errorOf({ diff: { callbackGrace } })).toMatch(/^ {2}diff\.callbackGrace: /m);
  },
);

test.each([
  [{ retain: { mismatches: 0 } }, "must be an ISO 8601 duration of weeks, days or less", "0"],
  [{ retain: { records: "P400Y" } }, "years and months are refused, because their length varies", '"P400Y"'],
  [{ pull: { overlap: 5 } }, "must be an ISO 8601 duration of weeks, days or less", "5"],
  [{ pull: { overlap: "P400000D" } }, "must be at most a thousand years (P365250D)", '"P400000D"'],
  [{ closing: { zone: "+07:00" } }, "an offset such as +07:00 is not a name", '"+07:00"'],
  [{ closing: { zone: "asia/bangkok" } }, "with its capital letters", '"asia/bangkok"'],
])("%j is refused with the rule and the value", (config, rule, value) => {
  const error = errorOf(config);
  expect(error).toContain(rule);
  expect(error.endsWith(` (it is ${value})`)).toBe(true);
});

test("a duration may have several parts, and fractions down to the millisecond", () => {
  const parse = (callbackGrace: string) =>
    parseConfig({ products: [{ productId: "P1" }], diff: { callbackGrace } }).diff.callbackGrace;
  const given = ["PT0S", "PT1H30M", "P1W", "P1DT1H", "PT0.5S", "PT0.00001M"];
  expect(given.map(parse)).toEqual([0, 5_400_000, 604_800_000, 90_000_000, 500, 1]);
});

test.each([
  { pull: { every: "PT0S" } },
  { pull: { requestTimeout: "PT0S" } },
  { diff: { every: "PT0S" } },
  { verify: { every: "PT0S" } },
  { alerts: { every: "PT0S" } },
])("%j is longer than 0", (config) => {
  expect(errorOf(config)).toMatch(/must be longer than 0 \(it is "PT0S"\)$/);
});

test.each(["", "/x", "x/y", "x?y", "x#y", "x%2fy", "x y", "x\ny", ".", "..", 5])(
  "the top-up path %j is no segment of a URL",
  (topUpPath) => {
    expect(errorOf({ products: [{ productId: "P1", topUpPath }] })).toMatch(
      /^ {2}products\[0\]\.topUpPath: /m,
    );
    expect(errorOf({ products: [{ productId: "P1", topUpPath: "P1_seamless" }] })).toBe("");
  },
);

test("a line break at the end of a variable is no part of it, as in a secret that was made with echo", () => {
  const path = join(mkdtempSync(join(tmpdir(), "recon-config-")), "recon.config.json");
  writeFileSync(path, '{ "products": [{ "productId": "P1" }] }');
  const environment = {
    DATABASE_URL: "postgres://host/db\n",
    REDIS_URL: "redis://host/3\r\n",
    PROVIDER_PASSWORD: "secret\n",
    PROVIDER_USERNAME: "agent",
    PROVIDER_BASE_URL: "https://provider.example\n",
    RECON_CONFIG: path,
    OPS_TOKENS: "\n",
  };
  expect(readSettings(["provider"], environment)).toMatchObject({
    databaseUrl: "postgres://host/db",
    redisUrl: "redis://host/3",
    provider: { baseUrl: "https://provider.example", password: "secret" },
    ops: { tokens: [] },
  });
});

test("a product id that the database cannot store is refused", () => {
  expect(errorOf({ products: [{ productId: "P\0" }] })).toMatch(
    /products\[0\]\.productId: .*control characters/,
  );
});

test.each(["PT59M59S", "PT1H", "P1D"])("a windowMax of %s counts as the default", (windowMax) => {
  const { pull } = parseConfig({
    products: [{ productId: "P1" }],
    pull: { windowMax, windowMin: windowMax },
  });
  expect(pull).toMatchObject({ windowMax: 3_598_000, windowMin: 3_598_000 });
});

test("a problem in one place hides no problem beside it", () => {
  const products = [{ productId: "P1", walletMode: "cash", since: 5 }, { productId: "P1" }];
  const pull = { every: "1m", windowMin: "PT1H", windowMax: "PT30M", windwMax: 1 };
  const message = errorOf({ products, pull, pul: 1 });
  for (const path of [
    "products[0].walletMode",
    "products[0].since",
    "products[1].productId",
    "pull.every",
    "pull.windowMin",
    "pull.windwMax",
    "pul",
  ]) {
    expect(message).toContain(`\n  ${path}: `);
  }
  expect(message).toMatch(/^7 settings are wrong:/);
});

test("the error names a product that is listed twice", () => {
  expect(() => parseConfig({ products: [{ productId: "P1" }, { productId: "P1" }] })).toThrow(
    /products\[1\]\.productId: is listed twice \(it is "P1"\)/,
  );
});

test("production embeds no server: the error names each missing setting", () => {
  const missing = () => readSettings(["database", "queue", "provider", "ops"], { NODE_ENV: "production" });
  for (const name of [
    "DATABASE_URL",
    "REDIS_URL",
    "PROVIDER_BASE_URL",
    "PROVIDER_PASSWORD",
    "OPS_TOKENS",
    "recon.config.json",
  ]) {
    expect(missing).toThrow(new RegExp(name));
  }
});

test("no error shows a secret, even if the secret is wrong", () => {
  const read = () =>
    readSettings([], { OPS_TOKENS: "short-secret", DATABASE_URL: "mysql://user:hunter2@host/db" });
  expect(read).toThrow(/OPS_TOKENS[\s\S]*DATABASE_URL|DATABASE_URL[\s\S]*OPS_TOKENS/);
  expect(read).not.toThrow(/hunter2|short-secret/);
  const misplaced = {
    products: [{ productId: "P1" }],
    provider: { password: "hunter2" },
    databaseUrl: "hunter2",
  };
  expect(() => parseConfig(misplaced)).toThrow(
    /provider: there is no setting[\s\S]*databaseUrl: there is no setting/,
  );
  expect(() => parseConfig(misplaced)).not.toThrow(/hunter2/);
});

test("the error names all wrong variables at once, and of a list the wrong element", () => {
  const wrong = {
    OPS_HOST: "0.0.0.0",
    OPS_PORT: "65536",
    CALLBACK_ALLOWED_IPS: "10.0.0.1, 10.0.0.0/33",
    LOG_LEVEL: "loud",
  };
  expect(() => readSettings([], wrong)).toThrow(
    /^4 settings[\s\S]*OPS_PORT: .*"65536"[\s\S]*IPS\[1\]: .*\(it is "10\.0\.0\.0\/33"\)[\s\S]*LOG_LEVEL: .*"loud"[\s\S]*OPS_HOST is/,
  );
});

test.each([
  "api/callback",
  "/api/callback/",
  "/",
  "//api",
  "/api/../callback",
  "/api/:any",
  "/api/*",
  "/a?b",
  "/a b",
])("the error names a wrong base path of callbacks such as %j", (path) => {
  expect(() => readSettings([], { CALLBACK_BASE_PATH: path })).toThrow(
    `CALLBACK_BASE_PATH: must be a path such as /api/callback: it begins with a slash, ends without one, and its parts have only letters, digits and - _ . ~ (it is ${JSON.stringify(path)})`,
  );
});

test("the server serves callbacks at the root, or below the base path that is set", () => {
  expect(readSettings([], {}).callbacks.basePath).toBe("");
  expect(readSettings([], { CALLBACK_BASE_PATH: "/api/v1.2/call-back" }).callbacks.basePath).toBe(
    "/api/v1.2/call-back",
  );
});

test("the signature key must be long in production, and no error shows it", () => {
  const read = (key: string, NODE_ENV: string) =>
    readSettings(["callers"], { CALLBACK_SIGNATURE_KEY: key, NODE_ENV, RECON_CONFIG: "" });
  const short = "sEcReT7-".repeat(2).slice(1);
  expect(() => read(short, "production")).toThrow(/CALLBACK_SIGNATURE_KEY has fewer than 16 characters/);
  expect(() => read(short, "production")).not.toThrow(/EcReT7/);
  expect(() => read(`x${short}`, "production")).not.toThrow(/CALLBACK_SIGNATURE_KEY/);
  expect(read("short", "development").callbacks.signatureKey).toBe("short");
});

test("tokens may be separated by commas and spaces, and must be long in production", () => {
  const given = { OPS_TOKENS: "anna:read:short, ben:write:a-token:with-a-colon" };
  expect(readSettings([], given).ops.tokens).toEqual([
    { name: "anna", role: "read", token: "short" },
    { name: "ben", role: "write", token: "a-token:with-a-colon" },
  ]);
  const read = () => readSettings([], { ...given, NODE_ENV: "production" });
  expect(read).toThrow(/OPS_TOKENS: the token of "anna" has fewer than 16 characters/);
  expect(read).not.toThrow(/ben|short/);
});

test("tokens have roles", () => {
  const roles = ["view", "decide", "close", "admin", "read", "write"] as const;
  const given = { OPS_TOKENS: roles.map((role) => `${role}-er:${role}:token`).join(",") };
  expect(readSettings([], given).ops.tokens.map(({ role }) => role)).toEqual(roles);
  expect(() => readSettings([], { OPS_TOKENS: "anna:boss:hunter2-hunter2" })).toThrow(
    /OPS_TOKENS\[0\]: must be name:role:token, with a role of view, decide, close, admin, read, write$/m,
  );
});

describe("proxies that sign users in", () => {
  const given = {
    OPS_TRUSTED_PROXIES: "10.0.0.5, 2001:db8::/32",
    OPS_USER_HEADER: "X-Forwarded-User",
    OPS_GROUPS_HEADER: "X-Forwarded-Groups",
    OPS_ROLES: "night:decide, urn:finance:close,*:view",
  };

  test("are known by their addresses, their headers and the roles of groups", () => {
    expect(readSettings(["ops"], { ...given, OPS_HOST: "0.0.0.0" }).ops.proxies).toEqual({
      addresses: ["10.0.0.5", "2001:db8::/32"],
      userHeader: "x-forwarded-user",
      groupsHeader: "x-forwarded-groups",
      roles: [
        { group: "night", role: "decide" },
        { group: "urn:finance", role: "close" },
        { group: "*", role: "view" },
      ],
    });
    expect(readSettings([], {}).ops.proxies).toBeNull();
    const { OPS_GROUPS_HEADER: _, ...others } = given;
    expect(readSettings([], { ...others, OPS_ROLES: "*:decide" }).ops.proxies?.groupsHeader).toBeNull();
  });

  test.each([
    [
      { OPS_TRUSTED_PROXIES: "proxy.example" },
      /OPS_TRUSTED_PROXIES\[0\]: must be IP addresses.*"proxy\.example"/,
    ],
    [
      { OPS_TRUSTED_PROXIES: "0.0.0.0/0" },
      /OPS_TRUSTED_PROXIES\[0\]: must not trust every address.*"0\.0\.0\.0\/0"/,
    ],
    [{ OPS_USER_HEADER: "Authorization" }, /OPS_USER_HEADER: must be the name of a header.*"Authorization"/],
    [{ OPS_GROUPS_HEADER: "X Groups" }, /OPS_GROUPS_HEADER: must be the name of a header.*"X Groups"/],
    [
      { OPS_ROLES: "night:boss" },
      /OPS_ROLES\[0\]: must be group:role, with a role of view, decide, close, admin.*"night:boss"/,
    ],
    [{ OPS_USER_HEADER: "" }, /OPS_USER_HEADER is not set: with OPS_TRUSTED_PROXIES it is needed/],
    [{ OPS_GROUPS_HEADER: "" }, /OPS_GROUPS_HEADER is not set: with OPS_TRUSTED_PROXIES it is needed/],
    [{ OPS_ROLES: "" }, /OPS_ROLES is not set: with OPS_TRUSTED_PROXIES it is needed/],
    [{ OPS_TRUSTED_PROXIES: "" }, /OPS_USER_HEADER is set, but OPS_TRUSTED_PROXIES is not/],
  ])("%o is refused by name and value", (wrong, said) => {
    expect(() => readSettings([], { ...given, ...wrong })).toThrow(said);
  });
});

test("in production the ops server needs tokens, and one line says so, wherever it listens", () => {
  for (const given of [{}, { OPS_TOKENS: "" }, { OPS_HOST: "127.0.0.1" }, { OPS_HOST: "0.0.0.0" }]) {
    const read = () => readSettings(["ops"], { NODE_ENV: "production", ...given });
    expect(read).toThrow(/\n {2}OPS_TOKENS is not set: in production/);
    expect(read).not.toThrow(/OPS_HOST/);
    expect(() => readSettings(["ops"], given)).not.toThrow(/OPS_TOKENS is not set: in production/);
    expect(() => readSettings(["database"], { NODE_ENV: "production", ...given })).not.toThrow(
      /OPS_TOKENS is not set: in production/,
    );
  }
});

test("an ops server that other machines can reach needs tokens", () => {
  expect(() => readSettings([], { OPS_HOST: "0.0.0.0" })).toThrow(
    /OPS_HOST is "0.0.0.0".*OPS_TOKENS is not set/,
  );
  const settings = readSettings([], {
    OPS_HOST: "0.0.0.0",
    OPS_TOKENS: "anna:read:0123456789abcdef",
    OPS_PUBLIC_URL: "https://recon.example/",
  });
  expect(settings.ops.publicUrl).toBe("https://recon.example");
  expect(settings.ops.tokens).toEqual([{ name: "anna", role: "read", token: "0123456789abcdef" }]);
});

describe("the channels of alerts", () => {
  const SECRET = `whsec_${"c2VjcmV0".repeat(4)}`;
  const https = { ALERT_WEBHOOK_URL: "https://ops.example/hook", ALERT_SLACK_URL: "https://slack.example/x" };

  test("are none if nothing is set", () => {
    expect(readSettings([], {}).alerts).toEqual({ webhook: null, slack: null });
  });

  test("are a webhook, Slack, or both", () => {
    expect(readSettings([], { ...https, ALERT_WEBHOOK_SECRET: SECRET }).alerts).toEqual({
      webhook: { url: https.ALERT_WEBHOOK_URL, secret: SECRET },
      slack: { url: https.ALERT_SLACK_URL },
    });
  });

  test("include no webhook without a signing key, or with a key that is too short or malformed", () => {
    expect(() => readSettings([], https)).toThrow(/ALERT_WEBHOOK_SECRET is not set/);
    for (const wrong of [
      "whsec_c2hvcnQ=",
      "not base64 at all, but long enough for a key",
      `whsec_${"c2Vj".repeat(8)}c`,
    ]) {
      const read = () => readSettings([], { ...https, ALERT_WEBHOOK_SECRET: wrong });
      expect(read).toThrow(/ALERT_WEBHOOK_SECRET: must be "whsec_"/);
      expect(read).not.toThrow(wrong);
    }
  });

  test("are reached by https only in production, except on this machine", () => {
    const message = (url: string) => {
      try {
        readSettings([], { NODE_ENV: "production", ALERT_SLACK_URL: url });
        return "";
      } catch (error) {
        return String(error);
      }
    };
    expect(message("http://slack.example/T0P")).toMatch(/ALERT_SLACK_URL is plain http/);
    expect(message("http://slack.example/T0P")).not.toMatch(/T0P/);
    for (const url of ["https://slack.example/x", "http://127.0.0.1:9/x", "http://[::1]:9/x"]) {
      expect(message(url)).not.toMatch(/ALERT_SLACK_URL/);
    }
    expect(readSettings([], { ALERT_SLACK_URL: "http://slack.example/x" }).alerts.slack).not.toBeNull();
  });
});

describe("the heartbeat", () => {
  const errorOf = (environment: NodeJS.ProcessEnv) => {
    try {
      readSettings([], environment);
      return "";
    } catch (error) {
      return String(error);
    }
  };

  test("has an address over http or https, or none", () => {
    expect(readSettings([], {}).heartbeatUrl).toBeNull();
    expect(readSettings([], { HEARTBEAT_URL: "https://hc.example/T0P" }).heartbeatUrl).toBe(
      "https://hc.example/T0P",
    );
    expect(errorOf({ HEARTBEAT_URL: "ftp://hc.example/T0P" })).toMatch(/HEARTBEAT_URL: must be a URL/);
  });

  test("is sent over https only in production, except on this machine; no error shows its address", () => {
    const message = errorOf({ NODE_ENV: "production", HEARTBEAT_URL: "http://hc.example/T0P" });
    expect(message).toMatch(
      /HEARTBEAT_URL is plain http: in production the heartbeat is sent over https only/,
    );
    expect(message + errorOf({ HEARTBEAT_URL: "ftp://hc.example/T0P" })).not.toMatch(/T0P/);
    expect(errorOf({ NODE_ENV: "production", HEARTBEAT_URL: "http://127.0.0.1:9/x" })).not.toMatch(
      /HEARTBEAT/,
    );
  });
});

test("the error names a config file that is not JSON, and what is wrong with it", () => {
  const path = join(mkdtempSync(join(tmpdir(), "recon-config-")), "recon.config.json");
  writeFileSync(path, '{ "products": [');
  expect(() => readSettings([], { RECON_CONFIG: path })).toThrow(/recon\.config\.json is not JSON/);
});

test("a config file may begin with the byte order mark that some editors write", () => {
  const path = join(mkdtempSync(join(tmpdir(), "recon-config-")), "recon.config.json");
  writeFileSync(path, '\ufeff{ "products": [{ "productId": "P1" }] }');
  expect(readSettings([], { RECON_CONFIG: path }).config?.products).toHaveLength(1);
});

// `npm run config:schema` writes the file.
test("recon.config.schema.json is made of the code's schema", async () => {
  const text = JSON.stringify(z.toJSONSchema(configSchema, { io: "input" }), null, 2);
  await expect(`${text}\n`).toMatchFileSnapshot("../recon.config.schema.json");
});

describe("retain that keeps rows for too short a time", () => {
  const products = [{ productId: "P1" }];

  const names = ["recordVersions", "rawBodies", "records", "entries", "mismatches", "windows"];
  test.each(names)("is refused: retain.%s", (name) => {
    expect(() => parseConfig({ products, retain: { [name]: "P29D" } })).toThrow(
      `retain.${name} is "P29D", which is shorter than the longest age in pull.resweepAfter, "P30D"`,
    );
    const closing = { after: "P100D" };
    const others = { windows: null, recordVersions: null, rawBodies: null, [name]: "P99DT12H" };
    expect(() => parseConfig({ products, closing, retain: others })).toThrow(
      `retain.${name} is "P99DT12H", which is shorter than closing.after, "P100D"`,
    );
  });

  test("is accepted if it is as long as both, and null keeps everything", () => {
    const retain = {
      records: "P30D",
      entries: "P365D",
      windows: null,
      recordVersions: null,
      rawBodies: null,
    };
    expect(parseConfig({ products, closing: { after: "P30D" }, retain }).retain).toMatchObject({
      records: 30 * 86_400_000,
      windows: null,
      recordVersions: null,
      mismatches: null,
    });
  });
});
