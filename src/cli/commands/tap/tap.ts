/** `recon tap`: stands in front of the operator's own callback endpoint until a stop signal, and writes the ledger. */

import { mkdir, realpath } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type { Command } from "commander";
import { allowAddresses } from "../../../callbacks/access.ts";
import { systemClock } from "../../../clock.ts";
import { readSettings } from "../../../config.ts";
import { inSchema } from "../../../database-url.ts";
import { takeLock } from "../../../embedded/exclusive-lock.ts";
import { startEmbeddedPostgres } from "../../../embedded/postgres/postgres.ts";
import { describeError, ReconError } from "../../../errors.ts";
import type { StoringOrder, StoringState } from "../../../flows/tap/store-tapped.ts";
import { createLog, type Log } from "../../../log.ts";
import { startTapServer } from "../../../ops/tap-server.ts";
import { secretsOf } from "../../../secrets.ts";
import { standardError } from "../../../standard-error.ts";
import type { StoredCounts } from "../../../tap/store-journal.ts";
import { startTap } from "../../../tap/tap.ts";
import { EMBEDDED_HOME } from "../../run/open.ts";
import { type Part, runParts } from "../../run/run-until-stopped.ts";
import { printLine } from "../../terminal/print.ts";

/** What has been stored since the start, and how it goes. */
type StoredSoFar = Omit<StoringState, "torn" | "lines" | "stored"> & {
  readonly stored: StoredCounts;
  readonly torn: number;
};

interface Storing {
  state(): StoredSoFar;
  /** Stores the rest of the journal, to which nothing is written any more. */
  close(): Promise<void>;
}

const AGAIN_MS = 1_000;
/** In the package the program's files are compiled. */
const THREAD = new URL(`./tap-thread${extname(import.meta.filename)}`, import.meta.url);

export function startStoring(order: StoringOrder, log: Log): Storing {
  let state: StoredSoFar = {
    stored: { added: 0, known: 0, changed: 0, skipped: 0, rejected: 0 },
    torn: 0,
    storedTo: null,
    isCaughtUp: false,
    problem: null,
    aheadMs: null,
  };
  let isClosing = false;
  let thread = begin();

  function begin(): Worker {
    const started = new Worker(THREAD, { workerData: order });
    started.on("message", (news: StoringState | { readonly line: string }) => {
      if ("line" in news) {
        standardError.write(news.line);
        return;
      }
      const { stored, torn, storedTo } = state;
      const sum = (name: keyof StoredCounts) => stored[name] + news.stored[name];
      state = {
        ...news,
        storedTo: news.storedTo ?? storedTo,
        torn: torn + news.torn,
        stored: {
          added: sum("added"),
          known: sum("known"),
          changed: sum("changed"),
          skipped: sum("skipped"),
          rejected: sum("rejected"),
        },
      };
    });
    started.on("error", (error) => {
      log.error(
        { error: describeError(error) },
        "the thread that stores the tap's journal failed; it restarts",
      );
    });
    started.once("exit", async () => {
      if (isClosing) return;
      state = { ...state, isCaughtUp: false, problem: "it failed and restarts" };
      await systemClock.sleep(AGAIN_MS);
      if (!isClosing) thread = begin();
    });
    return started;
  }

  return {
    state: () => state,
    close: async () => {
      isClosing = true;
      const ended = new Promise((resolve) => thread.once("exit", resolve));
      thread.postMessage("finish");
      await ended;
    },
  };
}

interface TapOptions {
  readonly target: string;
  readonly journal?: string;
  readonly journalMb: string;
}

/** At the end: the wait for answers of requests under way, and the wait until the journal is stored. */
const LONGEST_STOP_MS = 5_000;
const LONGEST_STORING_MS = 2_500;
const BYTES_OF_MB = 1024 * 1024;

export function addTapCommand(program: Command): void {
  program
    .command("tap")
    .description(
      "stands in front of your own callback endpoint, passes everything through unchanged, and writes the ledger",
    )
    .requiredOption("--target <url>", "your endpoint; the path of each callback follows its path")
    .option("--journal <folder>", "where callbacks wait until they are stored (default: recon-tap-<port>)")
    .option("--journal-mb <number>", "the most that may wait there, in MiB", "1024")
    .action(async (options: TapOptions) => {
      const target = readTarget(options.target);
      const mostBytes = readSize(options.journalMb);
      await runParts("recon tap", (opened, useLog) =>
        start(opened, useLog, target, mostBytes, options.journal),
      );
    });
}

async function start(
  opened: Part[],
  useLog: (log: Log) => void,
  target: URL,
  mostBytes: number,
  journal: string | undefined,
): Promise<void> {
  const settings = readSettings(["database", "tap"]);
  const { host, port, allowedIps } = settings.callbacks;
  const logLevel = settings.logLevel ?? "info";
  const secrets = secretsOf(settings);
  const log = createLog(logLevel, secrets);
  useLog(log);
  const folder = await openFolder(journal ?? `recon-tap-${port}`, opened);
  const server = settings.databaseUrl === null ? await startEmbeddedPostgres({ home: EMBEDDED_HOME }) : null;
  if (server !== null) opened.push({ name: "PostgreSQL", longestMs: 1_500, close: () => server.release() });

  const databaseUrl = inSchema(settings.databaseUrl ?? server?.url ?? "", settings.databaseSchema);
  const storing = startStoring({ folder, databaseUrl, logLevel, secrets }, log);
  opened.push({ name: "storing", longestMs: LONGEST_STORING_MS, close: () => storing.close() });
  const isAllowed = allowAddresses(allowedIps);
  const now = () => systemClock.now() - Math.round(storing.state().aheadMs ?? 0);
  const tap = await startTap({ host, port, target, isAllowed, folder, mostBytes }, log, now);
  opened.push({ name: "the tap", longestMs: LONGEST_STOP_MS + 500, close: () => tap.close(LONGEST_STOP_MS) });
  await serveHealth(opened, log, settings.ops, () => ({
    tally: tap.tally,
    journalBytes: tap.journalBytes(),
    mostBytes,
    storing: storing.state(),
    now: now(),
  }));

  printLine(`callbacks pass from ${tap.url}/<callback> to ${target.href.replace(/\/$/, "")}/<callback>`);
  printLine(
    `  ${allowedIps.length === 0 ? "from anywhere" : `from ${allowedIps.join(", ")}`}; the target checks signatures`,
  );
  printLine(
    `  what PostgreSQL has not stored yet waits in ${folder}, at most ${mostBytes / BYTES_OF_MB} MiB`,
  );
  printLine("Ctrl-C ends it.");
  log.info({ tap: tap.url, target: target.origin }, "the tap passes callbacks on");
}

/** Callbacks pass without health and metrics, so a port that is taken does not end the tap. */
async function serveHealth(
  opened: Part[],
  log: Log,
  ...parts: Parameters<typeof startTapServer>
): Promise<void> {
  try {
    const server = await startTapServer(...parts);
    opened.push({ name: "the tap's health", longestMs: 500, close: () => server.close() });
    printLine(`the tap's health is at ${server.url}/healthz, its metrics at ${server.url}/metrics`);
  } catch (error) {
    log.warn(
      { error: describeError(error) },
      "the tap runs without health and metrics: set OPS_PORT to a free port",
    );
  }
}

async function openFolder(path: string, opened: Part[]): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const folder = await realpath(path);
    const lock = await takeLock(folder);
    if (lock !== undefined) {
      opened.push({ name: "the journal's lock", longestMs: 100, close: () => lock.release() });
      return folder;
    }
  } catch (error) {
    throw new ReconError(
      "settings-invalid",
      `the journal cannot be kept in ${resolve(path)}: ${describeError(error)}. Name a folder that the tap may write to (--journal).`,
      { cause: error },
    );
  }
  throw new ReconError(
    "settings-invalid",
    `another tap keeps its journal in ${resolve(path)}: name another folder (--journal), each tap needs its own.`,
  );
}

function readTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  const hasMore =
    url !== null && (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "");
  if (url !== null && isHttp && !hasMore) return url;
  throw new ReconError(
    "usage",
    `--target must be a URL such as https://wallet.example/callbacks, without query and credentials, but is "${text.slice(0, 200)}"`,
  );
}

function readSize(text: string): number {
  if (/^\d{1,7}$/.test(text) && Number(text) > 0) return Number(text) * BYTES_OF_MB;
  throw new ReconError("usage", `--journal-mb must be a number of MiB, but is "${text.slice(0, 60)}"`);
}
