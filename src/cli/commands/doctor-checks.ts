/** The checks of `recon doctor` after settings and database are right, each with what to do. */

import { type RedisFacts, readRedisFacts } from "../../../jobs/redis.ts";
import { showDuration, systemClock } from "../../clock.ts";
import { describeNewer, describeOlder, readSchemaVersion } from "../../db/migrate.ts";
import { readInstallationId } from "../../db/prove-write.ts";
import { OLDEST_SERVER, readServerVersion } from "../../db/storage-store.ts";
import { findLongAmounts, MOST_DECIMALS } from "../../diff/long-amount-store.ts";
import { describeError, type ErrorCode, ReconError } from "../../errors.ts";
import { checkLedger } from "../../flows/ledger/check-ledger.ts";
import { askProviderOnce, type ClockSkew, type ProviderVisit } from "../../flows/verify/ask-provider-once.ts";
import { sayEmptied } from "../../health/installation.ts";
import { MEND_CREDENTIALS } from "../../health/products.ts";
import { countUnknownBalances } from "../../ledger/store.ts";
import type { OpenRecon } from "../run/open.ts";
import {
  checkBooks,
  checkConnections,
  checkEntries,
  checkMoney,
  checkRights,
  checkStorage,
  checkUpkeep,
} from "./doctor-database.ts";

/** The result of one check. */
export interface Diagnosis {
  readonly check: string;
  /** null: not checked, because a check that it needs failed */
  readonly ok: boolean | null;
  /** the finding in words, right or wrong */
  readonly found: string;
  /** what to do; null: nothing */
  readonly mend: string | null;
}

export type CheckResult = Omit<Diagnosis, "check">;

/** An unexpected error of a check becomes its diagnosis. */
const CHECKS: readonly (readonly [name: string, look: (recon: OpenRecon) => Promise<CheckResult>])[] = [
  ["database", checkDatabaseServer],
  ["migrations", checkMigrations],
  ["connections", checkConnections],
  ["redis", checkRedisServer],
  ["ledger", checkLedgerRelation],
];

/** What must be right before a check says anything new. A database without tables fails each of these with the same words. */
const NEEDS: Readonly<Record<string, string>> = {
  migrations: "database",
  connections: "database",
  vacuum: "database",
  rights: "migrations",
  entries: "migrations",
  ledger: "migrations",
  money: "migrations",
  disk: "migrations",
  books: "migrations",
  amounts: "migrations",
  balances: "migrations",
};

/**
 * All checks, in the order in which their problems should be fixed.
 * @param known the diagnosis of a database that cannot be reached
 */
export async function runChecks(recon: OpenRecon, known: Diagnosis | null): Promise<Diagnosis[]> {
  const diagnoses: Diagnosis[] = [];
  /** by the name of a check that failed or was not made: the check to correct first */
  const failed = new Map<string, string>();
  const look = async (check: string, run: () => Promise<Diagnosis[]>) => {
    const cause = failed.get(NEEDS[check] ?? "");
    const found =
      cause === undefined
        ? await run().catch((error: unknown) => [{ check, ...sayUnchecked(error) }])
        : [{ check, ok: null, found: `not checked: correct ${cause} first`, mend: null }];
    if (found.some(({ ok }) => ok !== true)) failed.set(check, cause ?? check);
    diagnoses.push(...found);
  };
  for (const [check, run] of CHECKS) {
    const isKnown = known?.check === check;
    await look(check, async () => [isKnown ? known : { check, ...(await run(recon)) }]);
  }
  await look("money", () => checkMoney(recon.context));
  await look("rights", () => checkRights(recon.context));
  await look("entries", () => checkEntries(recon.context));
  await look("vacuum", () => checkUpkeep(recon.context));
  await look("disk", () => checkStorage(recon.context));
  await look("books", () => checkBooks(recon.context));
  await look("amounts", () => checkAmounts(recon));
  if (recon.context.config.ledger.balances === "complete") await look("balances", () => checkBalances(recon));
  await look("provider", () => checkProvider(recon));
  return diagnoses;
}

function sayUnchecked(error: unknown): CheckResult {
  return wrong(
    `the check failed: ${describeError(error)}`,
    "correct the problems above, then run the doctor again",
  );
}

function right(found: string): CheckResult {
  return { ok: true, found, mend: null };
}

function wrong(found: string, mend: string): CheckResult {
  return { ok: false, found, mend };
}

async function checkDatabaseServer({ context }: OpenRecon): Promise<CheckResult> {
  const { major, name } = await readServerVersion(context.sql);
  if (major >= OLDEST_SERVER) return right(`PostgreSQL ${name} answers`);
  return wrong(`PostgreSQL ${name} is too old`, `use PostgreSQL ${OLDEST_SERVER} or newer`);
}

async function checkMigrations({ context }: OpenRecon): Promise<CheckResult> {
  const version = await readSchemaVersion(context.sql);
  const older = describeOlder(version);
  if (older !== null) return wrong(older, 'run "recon migrate", or start a worker, which migrates too');
  return right(describeNewer(version) ?? "the database is up to date");
}

async function checkRedisServer({ settings, context: { sql } }: OpenRecon): Promise<CheckResult> {
  const { redisUrl, redisPrefix: prefix } = settings;
  if (redisUrl === null) return right("REDIS_URL is not set: the queues are in the database");
  // Another check reports a database that cannot be used.
  const installationId = await readInstallationId(sql).catch(() => null);
  try {
    return judgeRedis(await readRedisFacts({ redisUrl, prefix, installationId }));
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    return wrong(describeError(error), "correct what the message names, start Redis, or correct REDIS_URL");
  }
}

/** The oldest Redis that BullMQ supports. */
const OLDEST_REDIS = [6, 2];

function judgeRedis({ version, evictionPolicy }: RedisFacts): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_REDIS;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    return wrong(`Redis ${version} is too old`, `use Redis ${OLDEST_REDIS.join(".")} or newer`);
  }
  if (evictionPolicy === "noeviction")
    return right(`Redis ${version} answers, takes writes, and evicts no keys`);
  return wrong(
    `Redis ${version} has maxmemory-policy ${evictionPolicy}: when memory is short, it drops jobs`,
    "set maxmemory-policy noeviction in its configuration, or give wallet-recon its own Redis",
  );
}

async function checkLedgerRelation({ context }: OpenRecon): Promise<CheckResult> {
  try {
    const { relation, isEmpty, emptied, rejected, idleTriggers, isUndatedDaily, unreadable } =
      await checkLedger(context);
    const source = relation === null ? "the table callback_entries" : `"${relation}" can be read`;
    if (idleTriggers.length > 0) {
      return wrong(
        `${source}, but triggers of callback_entries are missing or switched off (${idleTriggers.join(", ")}): new rows may never be compared`,
        "start a worker: it switches the triggers on, and compares every entry again",
      );
    }
    if (emptied > 0) {
      return wrong(
        sayEmptied(emptied),
        "find out who emptied it, and restore the rows from a backup (docs/ledger.md#entries-that-vanish)",
      );
    }
    if (unreadable !== null) {
      return wrong(
        `${source}, but not its row "${unreadable}"`,
        "the worker rejects this row and reads the others; recon rejected list --side entry then names the column and the error",
      );
    }
    if (rejected.unusable > 0) {
      return wrong(
        `${source}, but ${rejected.unusable} of its rows cannot be used`,
        `recon rejected list --side entry shows them with their reasons; ${relation === null ? "insert a corrected row with the same entry_id" : "a resweep reads corrected rows again with their day"}`,
      );
    }
    if (rejected.changed > 0) {
      return wrong(
        `${source}, but ${rejected.changed} changes of its rows were refused: their first content stays`,
        'recon rejected list --kind changed shows them; if rows of your ledger may change, set ledger.rowsChange to "replace", restart the worker, and run recon rejected retry',
      );
    }
    if (isUndatedDaily) {
      return right(
        `${source}; rows without a received_at are found only once a day, because no index leads to them: declare the column not null`,
      );
    }
    return right(
      isEmpty ? `${source}; no entry is known yet: nothing is compared until the first one` : source,
    );
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    const mend = "give the user of DATABASE_URL a table or view with these columns (docs/ledger.md)";
    return wrong(describeError(error), mend);
  }
}

/**
 * The comparison uses every digit, so the rounding noise of a sender becomes a difference. The check reports
 * something only if such amounts exist.
 */
async function checkAmounts({ context: { sql, config } }: OpenRecon): Promise<Diagnosis[]> {
  const productIds = config.products.map(({ productId }) => productId);
  // Another check reports unreadable tables.
  const found = await findLongAmounts(sql, productIds).catch(() => []);
  return found
    .filter(({ currency }) => config.diff.tolerance[currency] === undefined)
    .map(({ side, productId, currency, amount }) => ({
      check: "amounts",
      ok: true,
      found: `${productId} has amounts with more than ${MOST_DECIMALS} decimals ${side === "provider" ? "at the provider" : "in the ledger"}, such as ${amount} ${currency}: one side computes in floating point`,
      mend: `if the other side keeps fewer digits, set diff.tolerance, such as { "${currency}": "0.01" }; the day's statement then shows what it adds up to as rounding`,
    }));
}

const NEWEST_ENTRIES = 10_000;

/** A chain of balances that no entry names would be compared with nothing, and look well. */
async function checkBalances({ context: { sql } }: OpenRecon): Promise<Diagnosis[]> {
  const found = await countUnknownBalances(sql, NEWEST_ENTRIES);
  return found.map(({ productId, entries, unknown }) => ({
    check: "balances",
    ok: unknown < entries,
    found: `${unknown} of the newest ${entries} entries of ${productId} have neither balance_before nor balance_after: ledger.balances "complete" compares only what they moved`,
    mend: 'write the balances that you answered, or set ledger.balances to "partial"',
  }));
}

/** One call checks the provider and the clock. */
async function checkProvider({ settings, context }: OpenRecon): Promise<Diagnosis[]> {
  if (settings.provider === null) {
    return [
      {
        check: "provider",
        ...right("PROVIDER_BASE_URL is not set: the worker starts a stand-in provider"),
      },
    ];
  }
  try {
    const visit = await askProviderOnce(settings.provider, context.config, settings.production, systemClock);
    return [
      { check: "provider", ...judgeProvider(visit) },
      { check: "clock", ...judgeClock(visit.skew) },
    ];
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    return [{ check: "provider", ...wrong(describeError(error), "correct PROVIDER_BASE_URL") }];
  }
}

const MEND_PROVIDER: Partial<Record<ErrorCode, string>> = {
  "provider-refused": MEND_CREDENTIALS,
  "provider-unreachable":
    "correct PROVIDER_BASE_URL, and check that this machine can reach it (name, firewall, proxy)",
  "provider-timeout":
    "check that this machine can reach the provider (a firewall may drop packets silently); a slow provider needs a longer pull.requestTimeout",
  "provider-throttled": "the provider limits requests for now: run the doctor again later",
  "provider-rejected":
    "the provider refuses this product: check products[].productId with the provider's support",
};

export function judgeProvider({ asked, tookMs, error }: ProviderVisit): CheckResult {
  if (error === null) {
    return right(`it answers and accepts the credentials (${asked}, in ${(tookMs / 1000).toFixed(1)} s)`);
  }
  const mend =
    MEND_PROVIDER[error.code] ??
    "check that PROVIDER_BASE_URL is the agent API, and ask the provider's support";
  return wrong(`${describeError(error)} (${error.code})`, mend);
}

/**
 * A smaller difference is harmless: windows end `settleDelay` before now, and signed callbacks are valid for minutes.
 */
const LARGEST_SKEW_MS = 30_000;

function judgeClock(skew: ClockSkew | null): CheckResult {
  if (skew === null) return right("the provider sends no time: the clocks cannot be compared");
  const { aheadMs, uncertainMs } = skew;
  if (Math.abs(aheadMs) <= uncertainMs) return right("this machine and the provider have the same time");
  const apart = `this machine's clock is ${showDuration(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} the provider's`;
  if (Math.abs(aheadMs) - uncertainMs <= LARGEST_SKEW_MS) return right(apart);
  return wrong(
    `${apart}: windows are requested at the wrong time, and signed callbacks may be refused`,
    "set this machine's clock (NTP)",
  );
}
