/** An operator without a ledger: its callbacks pass through the tap over real HTTP, and the tap's journal is stored. */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Instant } from "../../src/clock.ts";
import { openStoring } from "../../src/flows/store-tapped.ts";
import { silentLog } from "../../src/log.ts";
import { formatAmount, parseAmount, sumAmounts } from "../../src/money.ts";
import { startTap } from "../../src/tap/tap.ts";
import { requestsOf, type WorldRequest } from "./callback-requests.ts";

/** Where the world says only what moved, the player had so much before. */
const BALANCE = parseAmount("1000000", "balance");
const MOST_BYTES = 1_000_000_000;

export class TappedLedger {
  readonly #databaseUrl: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "recon-tapped-"));
  readonly #agent = new Agent({ keepAlive: true });
  #answer = "";
  readonly #target = createServer((asked, reply) => {
    asked.resume().on("end", () => reply.end(this.#answer));
  });

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  async open(): Promise<void> {
    this.#target.listen(0, "127.0.0.1");
    await once(this.#target, "listening");
  }

  /** Each callback in its turn, at the time at which the world's operator received it; then all of them are stored. */
  async write(entries: readonly CallbackEntry[]): Promise<void> {
    if (entries.length === 0) return;
    let now: Instant = 0;
    const { port } = this.#target.address() as AddressInfo;
    const tap = await startTap(
      {
        host: "127.0.0.1",
        port: 0,
        target: new URL(`http://127.0.0.1:${port}`),
        isAllowed: () => true,
        folder: this.#folder,
        mostBytes: MOST_BYTES,
      },
      silentLog,
      () => now,
    );
    for (const one of requestsInOrder(entries)) {
      now = one.items[0]?.receivedAt ?? 0;
      this.#answer = answerOf(one);
      await this.#send(`${tap.url}/${one.callback}`, one.body);
    }
    await tap.close(0);
    const problems: string[] = [];
    const order = { folder: this.#folder, databaseUrl: this.#databaseUrl, logLevel: "silent", secrets: [] };
    const storing = openStoring(order, ({ problem, stored }) => {
      if (problem !== null) problems.push(problem);
      if (stored.rejected > 0) problems.push(`${stored.rejected} lines were rejected`);
    });
    await storing.run(new AbortController().signal, () => true);
    await storing.close();
    if (problems.length > 0) throw new Error(`the tap's journal was not stored: ${problems.join("; ")}`);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#target.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #send(url: string, body: string): Promise<void> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", headers });
    sent.end(body);
    const [response] = await once(sent, "response");
    if ((await text(response)) !== this.#answer) throw new Error("the tap changed an answer");
  }
}

function requestsInOrder(entries: readonly CallbackEntry[]): WorldRequest[] {
  const players = Map.groupBy(entries, ({ username, currency }) => JSON.stringify([username, currency]));
  return [...players.values()]
    .flatMap((ofPlayer) => requestsOf(ofPlayer))
    .sort((a, b) => (a.items[0]?.receivedAt ?? 0) - (b.items[0]?.receivedAt ?? 0));
}

function answerOf({ items, moved }: WorldRequest): string {
  const [first] = items;
  const before = first?.balanceBefore ?? BALANCE;
  const after = first?.balanceAfter ?? (moved === null ? null : sumAmounts([before, moved]));
  const balances =
    after === null ? "" : `,"balanceBefore":${formatAmount(before)},"balanceAfter":${formatAmount(after)}`;
  return `{"id":${JSON.stringify(first?.requestId)},"statusCode":0${balances}}`;
}
