/** An operator without a ledger: its callbacks pass through the tap over real HTTP, and the tap's journal is stored. */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Instant } from "../../src/clock.ts";
import { openStoring } from "../../src/flows/tap/store-tapped.ts";
import { silentLog } from "../../src/log.ts";
import { type Amount, formatAmount, parseAmount } from "../../src/money.ts";
import { startTap, type Tap } from "../../src/tap/tap.ts";
import { eventually } from "../support/eventually.ts";
import { writeBody } from "./callback-requests.ts";

/** Of each player, before the first callback. */
const FIRST_BALANCE = parseAmount("1000000", "balance");
const MOST_BYTES = 1_000_000_000;

export class TappedLedger {
  readonly #folder = mkdtempSync(join(tmpdir(), "recon-tapped-"));
  readonly #agent = new Agent({ keepAlive: true });
  readonly #stopped = new AbortController();
  readonly #problems: string[] = [];
  readonly #target: Server;
  readonly #databaseUrl: string;
  readonly #movedBy: (entry: CallbackEntry) => Amount | null;
  #tap: Tap | null = null;
  #storing = Promise.resolve();
  readonly #balances = new Map<string, Amount>();
  #answer = "";
  #now: Instant = 0;
  #sent = 0;
  #stored = 0;

  /** @param movedBy what the answer to a callback says that it moved; null: the answer has no balances */
  constructor(databaseUrl: string, movedBy: (entry: CallbackEntry) => Amount | null) {
    this.#databaseUrl = databaseUrl;
    this.#movedBy = movedBy;
    this.#target = createServer((asked, reply) => {
      asked.resume().on("end", () => reply.end(this.#answer));
    });
  }

  async open(): Promise<void> {
    // Between two steps of the simulation any time may pass.
    this.#target.keepAliveTimeout = 0;
    this.#target.listen(0, "127.0.0.1");
    await once(this.#target, "listening");
    const { port } = this.#target.address() as AddressInfo;
    const target = new URL(`http://127.0.0.1:${port}`);
    const place = { host: "127.0.0.1", port: 0, target, isAllowed: () => true };
    const journal = { folder: this.#folder, mostBytes: MOST_BYTES };
    this.#tap = await startTap({ ...place, ...journal }, silentLog, () => this.#now);
    const order = { folder: this.#folder, databaseUrl: this.#databaseUrl };
    const storing = openStoring(order, silentLog, ({ problem, stored, lines }) => {
      this.#stored += lines;
      if (problem !== null) this.#problems.push(problem);
      if (stored.rejected > 0) this.#problems.push(`${stored.rejected} lines were rejected`);
      if (stored.changed > 0) this.#problems.push(`${stored.changed} entries are changed`);
    });
    this.#storing = storing.run(this.#stopped.signal, () => false).finally(() => storing.close());
  }

  /** Each callback in its turn, at the time at which the world's operator received it; then all of them are stored. */
  async write(entries: readonly CallbackEntry[]): Promise<void> {
    for (const entry of entries) {
      this.#now = entry.receivedAt;
      this.#answer = this.#answerTo(entry);
      // One item in each request, so that the answer's balances say what moved for it.
      this.#sent += 1;
      await this.#send(`${this.#tap?.url}/${entry.callback}`, writeBody([entry], []));
    }
    await eventually("the journal is stored", () => this.#stored === this.#sent);
    if (this.#problems.length > 0) {
      throw new Error(`the tap's journal was not stored: ${this.#problems.join("; ")}`);
    }
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#tap?.close(0);
    this.#stopped.abort();
    await this.#storing;
    this.#target.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #answerTo(entry: CallbackEntry): string {
    const { requestId, username, currency } = entry;
    const moved = this.#movedBy(entry);
    const id = JSON.stringify(requestId);
    if (moved === null) return `{"id":${id},"statusCode":0}`;
    const wallet = JSON.stringify([username, currency]);
    const before = this.#balances.get(wallet) ?? FIRST_BALANCE;
    const after = before.plus(moved);
    this.#balances.set(wallet, after);
    return `{"id":${id},"statusCode":0,"balanceBefore":${formatAmount(before)},"balanceAfter":${formatAmount(after)}}`;
  }

  async #send(url: string, body: string): Promise<void> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", headers, agent: this.#agent });
    sent.end(body);
    const [response] = await once(sent, "response");
    if ((await text(response)) !== this.#answer) throw new Error("the tap changed an answer");
  }
}
