/** The checks of `recon doctor` on the database: its upkeep, its disk, the closed days that it holds, and one connection of each kind that work uses. */

import { openBackend } from "../../../jobs/backend.ts";
import { showBytes } from "../../bytes.ts";
import { showInstant } from "../../clock.ts";
import { openPipelinedPool } from "../../db/pipelined-pool.ts";
import { hasQueues, PROOF, type Proof, proveWrite } from "../../db/prove-write.ts";
import { findForeignCreators, ownsTables } from "../../db/schema-rights-store.ts";
import { requireSessions } from "../../db/session.ts";
import { readUpkeep } from "../../db/storage-store.ts";
import { describeError, type ErrorCode, ReconError } from "../../errors.ts";
import { sayRest, verifyBooks } from "../../flows/closing/verify-books.ts";
import type { FlowContext } from "../../flows/context.ts";
import { inspectEntryDays } from "../../flows/ledger/compare-entry-days.ts";
import { measureOutside, settingsOfMoney } from "../../flows/read/read-outside.ts";
import { readStorage } from "../../flows/read/read-work.ts";
import { judgeBooks } from "../../health/books.ts";
import { judgeDisk } from "../../health/installation.ts";
import { judgeMoney } from "../../health/money.ts";
import { judgeGone } from "../../health/other-work.ts";
import type { SumsSeen } from "../../money-outside.ts";
import { largeTables, sayAllDue, sayDisk, sayGrowth, sayMeasured } from "../../storage.ts";
import { judgeUpkeep } from "../../upkeep.ts";
import { readMoneyStates } from "../../work/work-store.ts";
import { LIMITS_LOST, type OpenRecon } from "../run/open.ts";
import type { CheckResult, Diagnosis } from "./doctor-checks.ts";

/** One line for each problem; one line if there is none. */
export async function checkUpkeep({ sql }: FlowContext): Promise<Diagnosis[]> {
  const facts = await readUpkeep(sql);
  const problems = judgeUpkeep(facts);
  if (problems.length > 0) return problems.map((one) => ({ check: "vacuum", ok: false, ...one }));
  const used = Math.max(facts.transactionIds, facts.multixactIds);
  const found = `${Math.round(used * 100)} % of the transaction ids are used, and autovacuum keeps up`;
  const mend = facts.seesAll
    ? null
    : "transactions of other users were not checked: grant pg_read_all_stats to the user of DATABASE_URL";
  return [{ check: "vacuum", ok: true, found, mend }];
}

/** The whole check of the closed days, as `recon report --verify` makes it. */
export async function checkBooks(context: FlowContext): Promise<Diagnosis[]> {
  const check = "books";
  const result = await verifyBooks(context);
  const { days, flaw } = result;
  const { books } = await readMoneyStates(context.sql, "");
  const rests = books === null ? null : { ...books, content: { ...books.content, flaws: [] } };
  const wrong = judgeBooks(null, rests, [], context.clock.now()).findings.map(
    ({ what, remedy }): Diagnosis => ({ check, ok: false, found: what, mend: remedy }),
  );
  if (flaw === null) {
    const found =
      days === 0
        ? "no day is closed"
        : `closed days: ${days}; no stored statement was altered.${sayRest(result)}`;
    return wrong.length > 0 ? wrong : [{ check, ok: true, found, mend: null }];
  }
  const mend = "find out who writes to the database besides wallet-recon, and compare with a backup";
  return [{ check, ok: false, found: `the closed day ${flaw.day} ${flaw.what}`, mend }, ...wrong];
}

/** What moved outside the comparison, and the products that are not in the settings. One line if there is neither. */
export async function checkMoney(context: FlowContext): Promise<Diagnosis[]> {
  const { sql, config, clock } = context;
  const { sums } = await readMoneyStates(sql, settingsOfMoney(config));
  const outside = await measureOutside(context);
  const known = config.products.map(({ productId }) => productId);
  const wrong = judgeMoney({ outside, sums, books: null }, known, clock.now(), config.alerts.every)
    .findings.filter(({ severity }) => severity === "bad")
    .map(({ kind, what, remedy }) => ({
      check: kind === "books-wrong" ? "books" : "money",
      ok: false,
      found: what,
      mend: remedy,
    }));
  const { unknown, from } = outside.content;
  const old = unknown.filter(({ until }) => until < from).map(({ productId }) => productId);
  const kept =
    old.length === 0
      ? []
      : [
          {
            check: "products",
            ok: true,
            found: `the database has older bets of products that are not in the settings: ${old.join(", ")}; they are neither compared nor deleted`,
            mend: 'to have them deleted like all others, list these products again with their former settings, but with walletMode "transfer": they are then neither pulled nor compared (docs/operations.md#products-that-end)',
          },
        ];
  if (wrong.length + kept.length > 0) return [...wrong, ...kept];
  const found = `no money moved outside the comparison since ${showInstant(from)}; ${saySums(sums?.content ?? null)}`;
  return [{ check: "money", ok: true, found, mend: null }];
}

function saySums(seen: SumsSeen | null): string {
  if (seen === null) return "no worker has added up the statements yet";
  const left = seen.left.map(({ productId, reason }) => ` Not compared: ${productId}. ${reason}`).join("");
  return `all money of the ledger is in the statements of ${new Set(seen.sums.map(({ productId }) => productId)).size} products.${left}`;
}

/** Nothing if this role owns the tables, and only roles may create beside them that could also drop them. */
export async function checkRights({ sql }: FlowContext): Promise<Diagnosis[]> {
  const check = "rights";
  const creators = await findForeignCreators(sql);
  const found: Diagnosis[] = creators === null ? [] : [{ check, ok: false, ...creators }];
  if (await ownsTables(sql)) return found;
  return [
    {
      check,
      ok: false,
      found:
        "the user of DATABASE_URL does not own the tables: imports, a relation and retention are refused",
      mend: "connect the worker, the tap and the commands as the role that ran recon migrate; docs/ledger.md#rights has the rights of other programs",
    },
    ...found,
  ];
}

/** Whether the entries that were accepted are there. Nothing if there was never one. */
export async function checkEntries(context: FlowContext): Promise<Diagnosis[]> {
  const check = "entries";
  const { gone, compared, days } = await inspectEntryDays(context);
  if (days === 0) return [];
  const left = days - compared;
  const rest =
    left === 0 ? "" : `; ${left} older ${left === 1 ? "day was" : "days were"} not compared within a minute`;
  if (gone.length === 0) {
    const found = `the entries of ${compared} ${compared === 1 ? "day" : "days"} are those that were accepted${rest}`;
    return [{ check, ok: true, found, mend: null }];
  }
  return judgeGone(gone).map(({ what, remedy }) => ({
    check,
    ok: false,
    found: `${what}${rest}`,
    mend: remedy,
  }));
}

/** The largest tables that are named. */
const MOST_NAMED = 5;

/** Size, growth and the days that the disk lasts. */
export async function checkStorage(context: FlowContext): Promise<Diagnosis[]> {
  const storage = await readStorage(context.sql);
  const check = "disk";
  if (storage === null) {
    const found = "the size of the database is unknown: no worker has measured yet";
    return [{ check, ok: true, found, mend: "start a worker; it measures every ten minutes" }];
  }
  const named = largeTables(storage).large.slice(0, MOST_NAMED);
  const largest = named.map(({ table, bytes }) => `${table} ${showBytes(bytes)}`).join(", ");
  const found = `the database has ${showBytes(storage.bytes)}, ${sayGrowth(storage)}; ${sayDisk(storage)}; ${sayAllDue(storage)}; ${sayMeasured(storage, context.clock.now())}${largest === "" ? "" : `\nlargest: ${largest}`}`;
  const [full] = judgeDisk(storage, false);
  if (full !== undefined) return [{ check, ok: false, found, mend: full.remedy }];
  const unset = storage.diskBytes === null;
  const mend = unset ? "set DATABASE_DISK of the worker to what the database may use, such as 500GB" : null;
  return [{ check, ok: true, found, mend }];
}

/** PostgreSQL's code for a table that is not there. */
const NO_TABLE = "42P01";

export async function checkConnections(recon: OpenRecon): Promise<CheckResult> {
  const { context, people } = recon;
  try {
    await requireSessions(context.sql.options);
    const proofs = [await proveWrite(context.sql), await proveWrite(people.sql)];
    await writeAsCallbacksDo(recon);
    await writeAsQueuesDo(recon);
    return judgeLimits(proofs);
  } catch (error) {
    if (codeOf(error) === NO_TABLE)
      return { ok: true, found: "not checked before the migrations", mend: null };
    if (!(error instanceof ReconError)) throw error;
    return { ok: false, found: describeError(error), mend: MEND[error.code] ?? "correct DATABASE_URL" };
  }
}

const MEND: Partial<Record<ErrorCode, string>> = {
  "settings-invalid": "set pool_mode = session in the pooler, or give DATABASE_URL the address of PostgreSQL",
  "database-refuses-writes":
    "let the database accept writes, or point DATABASE_URL at the primary; work then resumes by itself",
  "database-unreachable": "correct what the message names",
};

function judgeLimits(proofs: readonly Proof[]): CheckResult {
  if (proofs.some(({ statementTimeout }) => statementTimeout === "0"))
    return {
      ok: false,
      found: LIMITS_LOST,
      mend: "alter role … set statement_timeout = '300s', then RECONNECT in the pooler's console",
    };
  const found = "a write succeeded over a connection of each kind: work, pages, callbacks, queues";
  return { ok: true, found, mend: null };
}

async function writeAsCallbacksDo({ context: { sql } }: OpenRecon): Promise<void> {
  const pipelined = openPipelinedPool(sql, []);
  try {
    await pipelined.run({ text: PROOF, values: [] });
  } finally {
    await pipelined.close();
  }
}

/** Queues in Redis have a check of their own. The first worker makes the tables of those in the database. */
async function writeAsQueuesDo({ settings, context, databaseUrl }: OpenRecon): Promise<void> {
  if (settings.redisUrl !== null || !(await hasQueues(context.sql))) return;
  const backend = openBackend(null, databaseUrl, context.log);
  try {
    await backend.check();
  } finally {
    await backend.close();
  }
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return cause?.code ?? code;
}
