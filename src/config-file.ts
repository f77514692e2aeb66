/** The settings of `recon.config.json`: their shape, their defaults, and how the file is read. */

import { readFileSync } from "node:fs";
import { Duration } from "luxon";
import { z } from "zod";
import { isZoneName, parseInstant, ZONE_RULE } from "./clock.ts";
import { endpointSettings, findUnknownProducts } from "./endpoints.ts";
import { parseAmount } from "./money.ts";
import { describeIssues, settingsError } from "./settings-problems.ts";
import { LONGEST_WINDOW_MS } from "./window.ts";

const RETAINED = ["recordVersions", "rawBodies", "windows", "records", "entries", "mismatches"] as const;

/** Durations in milliseconds; null: without a limit. */
interface RetentionSettings {
  readonly pull: { readonly resweepAfter: readonly number[] };
  readonly retain: Readonly<Record<(typeof RETAINED)[number], number | null>>;
  /** undefined: days are closed by hand */
  readonly closing?: { readonly after: number | null };
}

/**
 * A row must be kept until the last resweep has fetched its time again, and until its day is closed. So must the evidence of
 * a difference that the last resweep finds: older versions of records, and bodies of callbacks.
 * @returns a problem for each setting that is too short, with its value
 */
function findShortRetention({ pull, retain, closing }: RetentionSettings): string[] {
  const longestResweep = Math.max(0, ...pull.resweepAfter);
  const closingAfter = closing?.after ?? 0;
  return RETAINED.flatMap((name) => {
    const keptMs = retain[name];
    if (keptMs === null) return [];
    const tooShort = (than: string, ms: number) =>
      `retain.${name} is "${formatDuration(keptMs)}", which is shorter than ${than}, "${formatDuration(ms)}"`;
    if (keptMs < longestResweep) return [tooShort("the longest age in pull.resweepAfter", longestResweep)];
    return keptMs < closingAfter ? [tooShort("closing.after", closingAfter)] : [];
  });
}

/** A duration as in the settings: "P90D", "P1DT2H". */
function formatDuration(ms: number): string {
  const parts = Duration.fromMillis(ms).shiftTo("days", "hours", "minutes", "seconds").toObject();
  return Duration.fromObject(
    Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== 0)),
  ).toISO();
}

const DAY_MS = 86_400_000;
/** A thousand years, so that times computed with it can still be formatted. */
const LONGEST_DURATION_MS = 365_250 * DAY_MS;

const DURATION_RULE = `must be an ISO 8601 duration of weeks, days or less such as "PT15M"; years and months are refused, because their length varies`;

/** ISO 8601 text in, milliseconds out. */
function duration(defaultText: string) {
  return z.string(DURATION_RULE).default(defaultText).transform(readDuration);
}

/** As `duration`; null: without a limit. */
function durationOrNull(defaultText: string | null) {
  return z
    .string(DURATION_RULE)
    .nullable()
    .default(defaultText)
    .transform((text, context) => (text === null ? null : readDuration(text, context)));
}

function readDuration(text: string, context: z.RefinementCtx): number {
  const parsed = Duration.fromISO(text);
  const hasLength = /^P[^-]*[WDHMS]$/.test(text) && !parsed.years && !parsed.months;
  const lengthMs = hasLength ? Math.round(parsed.toMillis()) : Number.NaN;
  if (lengthMs <= LONGEST_DURATION_MS) return lengthMs;
  context.addIssue(
    lengthMs > LONGEST_DURATION_MS ? "must be at most a thousand years (P365250D)" : DURATION_RULE,
  );
  return z.NEVER;
}

/** The interval of repeated work, or a time limit: with 0 the work would never pause, or every wait would fail. */
const period = (defaultText: string) => duration(defaultText).refine((ms) => ms > 0, "must be longer than 0");

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

/** A currency code as in the records (ISO 4217, capital letters): another spelling would never match. */
export const CURRENCY_CODE = /^[A-Z][A-Z0-9]{2,9}$/;
const currencyCode = z
  .string()
  .regex(CURRENCY_CODE, 'must be a currency code in capital letters such as "THB"');

/** One segment of a path, so that a request cannot reach another endpoint (§4.B5). */
export const TOP_UP_PATH = /^(?!\.)[\w.~-]{1,200}$/;

/** Whether both limits of windows could be read, even if other settings are wrong. */
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
  settlement: z.enum(["bets", "session", "mixed"]).default("bets"),
  singleState: z.boolean().default(false),
  openBetsListed: z.boolean().default(false),
  stuckOpenAfter: duration("P1D"),
  topUpPath: z
    .string()
    .regex(TOP_UP_PATH, 'must be one segment of a path such as "P1_seamless"')
    .nullable()
    .default(null),
  lostBets: z.enum(["written", "omitted"]).default("written"),
  nominalStakes: z.boolean().default(false),
  ledgerSince: instant,
});

/** The table that callback entries are written to. */
const OWN_LEDGER: ReadonlySet<string> = new Set(["callback_entries", "public.callback_entries"]);

/** What the settings cannot be together. */
function findContradictions(config: Config): string[] {
  const known = config.products.map(({ productId }) => productId);
  return [...findShortRetention(config), ...findUnknownProducts(config.alerts.endpoints, known)];
}

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
          context.addIssue({ code: "custom", message: "is listed twice", path: [index, "productId"] });
        }
      },
      // Also if other settings are wrong, so that the error reports all problems at once.
      { when: ({ value }) => Array.isArray(value) },
    ),
  pull: z
    .strictObject({
      every: period("PT1M"),
      // The default of earlier versions was an hour.
      windowMax: duration("PT59M58S").transform((ms) => Math.min(ms, LONGEST_WINDOW_MS)),
      windowMin: duration("PT1M")
        .refine((ms) => ms >= 1000, "must be at least a second (PT1S)")
        .transform((ms) => Math.min(ms, LONGEST_WINDOW_MS)),
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
      message: "must not be longer than windowMax; if it is not set, it is PT1M",
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
      tolerance: z.record(currencyCode, decimalText).default({}),
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
      notFoundCodes: z.array(z.int().refine((code) => code !== 0, "0 means success")).default(() => [5004]),
      balances: z.enum(["ignore", "check"]).default("ignore"),
    })
    .prefault({}),
  alerts: z
    .strictObject({
      every: period("PT30S"),
      incidentGap: duration("PT1H"),
      minAmount: z.record(z.string(), decimalText).default({}),
      slackStatements: z.boolean().default(false),
      endpoints: endpointSettings(z.record(currencyCode, decimalText).default({})),
    })
    .prefault({}),
  ledger: z
    .strictObject({
      relation: z
        .string()
        .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/, 'must be a table or view such as "schema.name"')
        .nullable()
        .default(null)
        // The program's own table need not be followed, so naming it counts as null.
        .transform((name) => (name !== null && OWN_LEDGER.has(name) ? null : name)),
      since: instant,
      lookback: duration("PT15M"),
      rowsChange: z.enum(["never", "replace"]).default("never"),
      balances: z.enum(["partial", "complete"]).default("partial"),
    })
    .prefault({}),
  closing: z
    .strictObject({
      zone: z.string().refine(isZoneName, `must be ${ZONE_RULE}`).default("UTC"),
      after: duration("PT0S").nullable().prefault(null),
      archive: z.string().min(1).nullable().default(null),
    })
    .prefault({}),
  retain: z
    .strictObject({
      recordVersions: durationOrNull("P90D"),
      rawBodies: durationOrNull("P90D"),
      windows: durationOrNull("P90D"),
      records: durationOrNull(null),
      entries: durationOrNull(null),
      mismatches: durationOrNull(null),
    })
    .prefault({}),
});

/** Checked settings of `recon.config.json`; every duration is in milliseconds. */
export type Config = z.output<typeof configSchema>;
export type ProductConfig = Config["products"][number];

/**
 * Checks the value of a config file, or of a part of one. Fills in the defaults.
 * @throws ReconError `settings-invalid` that lists every problem
 */
export function parseConfig(value: unknown): Config {
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) throw settingsError(describeIssues(parsed.error, value, ""));
  const wrong = findContradictions(parsed.data);
  if (wrong.length > 0) throw settingsError(wrong);
  return parsed.data;
}

/**
 * @param problems the problems of the file are added.
 * @returns null if the file does not exist, or cannot be used
 */
export function readConfigFile(path: string, required: boolean, problems: string[]): Config | null {
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
    // Some editors begin a file with a byte order mark, which is not JSON.
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    problems.push(`${path} is not JSON: ${(error as Error).message}`);
    return null;
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) {
    const wrong = findContradictions(parsed.data);
    problems.push(...wrong.map((problem) => `${path}: ${problem}`));
    return wrong.length > 0 ? null : parsed.data;
  }
  problems.push(...describeIssues(parsed.error, value, `${path}: `));
  return null;
}
