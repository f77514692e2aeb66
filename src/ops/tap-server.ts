/** Health and metrics of `recon tap`, which has no path of its own among the callbacks. */

import fastify from "fastify";
import { Counter, Gauge, Registry } from "prom-client";
import type { Instant } from "../clock.ts";
import type { Settings } from "../config.ts";
import { describeError, ReconError } from "../errors.ts";
import type { StoredCounts } from "../tap/store-journal.ts";
import { LOSSES, sumOfLost, type Tally } from "../tap/tally.ts";
import { refuseForeign } from "./access/access.ts";
import { addProcessMetrics } from "./metrics/process-metrics.ts";

/** How the tap does. */
export interface TapState {
  readonly tally: Tally;
  readonly journalBytes: number;
  readonly mostBytes: number;
  readonly storing: {
    readonly stored: StoredCounts;
    readonly torn: number;
    readonly storedTo: Instant | null;
    readonly isCaughtUp: boolean;
    readonly problem: string | null;
  };
  readonly now: Instant;
}

/**
 * Starts to listen. The tap is healthy as long as callbacks pass, even if it cannot record them: the reason is in the
 * answer and in the metrics.
 * @throws ReconError `listen-failed` if the port is taken
 */
export async function startTapServer(
  settings: Settings["ops"],
  read: () => TapState,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  if (settings.tokens.length === 0) app.addHook("onRequest", refuseForeign);
  const registry = openRegistry(read);
  app.get("/healthz", async () => describeHealth(read()));
  app.get("/readyz", async () => describeHealth(read()));
  app.get("/metrics", async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
  try {
    const url = await app.listen({ host: settings.host, port: settings.port });
    return { url, close: () => app.close() };
  } catch (error) {
    throw new ReconError(
      "listen-failed",
      `the tap's health cannot be served on ${settings.host}:${settings.port}: ${describeError(error)}`,
      { cause: error },
    );
  }
}

function describeHealth({ tally, journalBytes, mostBytes, storing }: TapState) {
  return {
    status: "alive",
    recorded: tally.recorded,
    unrecorded: sumOfLost(tally),
    journal: { bytes: journalBytes, mostBytes },
    storing: { caughtUp: storing.isCaughtUp, problem: storing.problem },
  };
}

function openRegistry(read: () => TapState): Registry {
  const registry = new Registry();
  addProcessMetrics(registry);
  const gauge = (name: string, help: string, value: (state: TapState) => number | null) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const now = value(read());
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  const counter = (name: string, help: string, label: string, values: (state: TapState) => object) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(values(read())))
          this.inc({ [label]: value }, count as number);
      },
    });
  counter(
    "recon_tap_callbacks_total",
    "Callbacks that passed the tap, by result.",
    "outcome",
    ({ tally }) => ({
      recorded: tally.recorded,
      unrecorded: sumOfLost(tally),
      unanswered: tally.unanswered,
      refused: tally.refused,
    }),
  );
  counter(
    "recon_tap_unrecorded_total",
    "Callbacks that were answered and not recorded.",
    "reason",
    ({ tally }) => Object.fromEntries(LOSSES.map((loss) => [loss, tally.lost[loss]])),
  );
  counter(
    "recon_tap_entries_total",
    "What was stored of the journal.",
    "outcome",
    ({ storing }) => storing.stored,
  );
  const total = (name: string, help: string, value: (tally: Tally) => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(value(read().tally));
      },
    });
  total("recon_tap_unreachable_total", "Connections that got 502.", ({ unreachable }) => unreachable);
  total(
    "recon_tap_unpassed_total",
    "Requests that did not pass: CONNECT, not HTTP/1.1, or behind 1,000 without answers.",
    ({ unpassed }) => unpassed,
  );
  gauge("recon_tap_connections", "Connections that are open.", ({ tally }) => tally.connections);
  gauge("recon_tap_journal_bytes", "Space that the journal uses.", ({ journalBytes }) => journalBytes);
  gauge("recon_tap_journal_limit_bytes", "Space that the journal may use.", ({ mostBytes }) => mostBytes);
  gauge("recon_tap_storing", "1: recorded callbacks are being stored.", ({ storing }) =>
    storing.problem === null ? 1 : 0,
  );
  gauge(
    "recon_tap_behind_seconds",
    "Age of the last stored callback; 0 if all are stored.",
    ({ storing, now }) => {
      if (storing.isCaughtUp) return 0;
      return storing.storedTo === null ? null : Math.max(0, (now - storing.storedTo) / 1000);
    },
  );
  return registry;
}
