/** Writes a round line by line, separately for each side. */

import type { BetRecord, BetStatus, PayoutStatus } from "../../../src/bet.ts";
import type { CallbackEntry, CallbackName } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { type Amount, formatAmount, sumAmounts, ZERO } from "../../../src/money.ts";
import { dateText } from "../../../src/sandbox/world/provider-side.ts";
import { hashText, type Random } from "../../../src/sandbox/world/random.ts";
import type { PlantedFault, Script, ShownVersion } from "../../../src/sandbox/world/world-plan.ts";
import { riskOf } from "./books.ts";
import { drawAmount, drawFactor } from "./odd-amounts.ts";
import type { EntryTerms, FaultSubject, RoundContext, Version } from "./round-terms.ts";
import { drawStyle, type ScriptStyle } from "./script-style.ts";

const LONGEST_SHARE = 0.99;

export class RoundScript {
  readonly context: RoundContext;
  readonly random: Random;
  #lines: { entry: CallbackEntry; moved: Amount; txn: string; unasked: boolean }[] = [];
  #records = new Map<string, ShownVersion[]>();
  #style: ScriptStyle;

  constructor(context: RoundContext) {
    this.context = context;
    this.random = context.random;
    const style = drawStyle(context.random);
    this.#style = context.plan.throughCallbacks ? { ...style, wholeSeconds: false } : style;
  }

  /** A moment of the round. @param share of the longest time of a round; below 1 */
  at(share: number): Instant {
    return this.context.startedAt + Math.floor(this.context.plan.lateSettlementMs * share * LONGEST_SHARE);
  }

  /** Draws an amount above 0 of the player's currency. */
  money(): Amount {
    return drawAmount(this.random, this.context.player.currency);
  }

  /** Draws the payout of a stake: nothing, less, the same, or more. */
  payoutOf(stake: Amount): Amount {
    return stake.times(drawFactor(this.random));
  }

  txnId(txn: string): string {
    return `${this.context.roundId}-${txn}`;
  }

  say(callback: CallbackName, txn: string, at: Instant, line: EntryTerms): this {
    const { context, random } = this;
    const { callbackLagMs } = context.plan;
    const most = random.oneIn(10) ? callbackLagMs : Math.floor(callbackLagMs / 10);
    const before = this.#style.inOrder ? this.#lines.filter(({ entry }) => entry.occurredAt <= at) : [];
    const number = this.#lines.length + 1;
    const entry: CallbackEntry = {
      entryId: `e-${context.roundId}-${number}`,
      callback,
      requestId: `q-${context.roundId}-${line.request ?? number}`,
      productId: context.productId,
      username: context.player.username,
      currency: line.currency ?? context.player.currency,
      txnId: callback === "adjustBalance" ? `${context.roundId}-${number}` : this.txnId(txn),
      roundId: callback === "adjustBalance" ? null : (line.round ?? context.roundId),
      status: line.status ?? STATUS_OF[callback],
      betAmount: line.bet ?? null,
      payoutAmount: line.payout ?? null,
      transactionType: this.#typeOf(callback, line),
      singleState: line.singleState ?? this.#flagOf(callback, txn, at),
      endRound: line.endRound ?? null,
      skipBalanceUpdate: line.skip ?? false,
      moved: line.moved,
      balanceBefore: null,
      balanceAfter: null,
      occurredAt: at,
      receivedAt: Math.max(at + random.below(most + 1), ...before.map(({ entry }) => entry.receivedAt)),
    };
    const kept = this.#style.wholeSeconds ? inWholeSeconds(entry) : entry;
    this.#lines.push({ entry: kept, moved: line.moved, txn, unasked: line.unasked ?? false });
    return this;
  }

  place(txn: string, at: Instant, stake: Amount, line: Partial<EntryTerms> = {}): this {
    return this.say("placeBets", txn, at, { bet: stake, moved: stake.neg(), ...line });
  }

  settle(txn: string, at: Instant, payout: Amount, line: Partial<EntryTerms> = {}): this {
    return this.say("settleBets", txn, at, { payout, moved: payout, ...line });
  }

  /** @param back the debited amount */
  cancel(txn: string, at: Instant, back: Amount, line: Partial<EntryTerms> = {}): this {
    return this.say("cancelBets", txn, at, { bet: back, moved: back, ...line });
  }

  /** Takes the payout of a settled bet back. For a void bet, give `bet` instead. */
  rollback(txn: string, at: Instant, payout: Amount, line: Partial<EntryTerms> = {}): this {
    const type = "BY_TRANSACTION";
    return this.say("rollback", txn, at, { payout, bet: ZERO, moved: payout.neg(), type, ...line });
  }

  /** Adds the next version of a record to the report, with the usual lag. */
  show(name: string, at: Instant, version: Version): this {
    const { context } = this;
    const accountedAt = version.accountedAt ?? at;
    const payout = version.payout ?? ZERO;
    const record: BetRecord = {
      ...(version.ids ?? this.idsOf(name)),
      username: version.username ?? context.player.username,
      currency: version.currency ?? context.player.currency,
      accountingDate: dateText(accountedAt, this.#style.offset),
      updatedDate: dateText(at, this.#style.offset),
      stake: version.stake,
      payout,
      productId: context.productId,
      gameCode: context.game.code,
      gameName: context.game.name,
      roundId: version.round ?? context.roundId,
      betStatus: version.status,
      payoutStatus: version.payoutStatus ?? payoutStatusOf(version.status, version.stake, payout),
      extra: null,
    };
    return this.#turn(name, at + this.#reportLag(), accountedAt, record);
  }

  /** The report does not show a listed record any more. */
  hide(name: string, at: Instant): this {
    return this.#turn(name, at, this.#last(name)?.accountedAt ?? at, null);
  }

  /** The report shows a hidden record again, unchanged. */
  restore(name: string, at: Instant): this {
    const last = this.#records.get(name)?.findLast(({ record }) => record !== null);
    return this.#turn(name, at, last?.accountedAt ?? at, last?.record ?? null);
  }

  /** The report shows this round without lags, so that later events meet its records. */
  promptly(): this {
    this.#style = { ...this.#style, latestReport: false, prompt: true };
    return this;
  }

  idsOf(name: string): { id: string; betId: string } {
    const txnId = this.txnId(name);
    return this.#style.txnIdIs === "betId"
      ? { id: `r-${txnId}`, betId: txnId }
      : { id: txnId, betId: `b-${txnId}` };
  }

  /**
   * Adds the balances of the operator's answers. Every request must have one line.
   * @param wrongBy the error of the first
   */
  withBalances(wrongBy: Amount = ZERO): this {
    let balance = this.money().plus("1000");
    for (const [index, line] of this.#lines.entries()) {
      const after = balance.plus(line.moved).plus(index === 0 ? wrongBy : ZERO);
      line.entry = { ...line.entry, balanceBefore: balance, balanceAfter: after };
      balance = after;
    }
    return this;
  }

  right(): Script {
    return this.#write(null);
  }

  /** @param atRisk default: computed from the moves and the records */
  wrong(kind: PlantedFault["kind"], subject: FaultSubject, atRisk?: Amount): Script {
    const { context } = this;
    const moved = sumAmounts(
      this.#lines.filter(({ txn }) => subject.bets.includes(txn)).map((line) => line.moved),
    );
    const shown = subject.records.flatMap((name) => this.#records.get(name)?.at(-1)?.record ?? []);
    const counted = shown.filter(({ currency }) => currency === context.player.currency);
    const [bet, record] = subject.names === undefined ? [subject.bets[0], shown[0]] : [];
    return this.#write({
      kind,
      productId: context.productId,
      username: context.player.username,
      betId: record?.betId ?? null,
      transactionId: bet === undefined ? null : this.txnId(bet),
      roundId: subject.names === "nothing" ? null : context.roundId,
      amountAtRisk: formatAmount(atRisk ?? riskOf(moved, counted, subject.ledger)),
      completeAt: Math.max(
        ...this.#lines.map(({ entry }) => entry.receivedAt),
        ...[...this.#records.values()].flatMap((shown) => shown.map(({ at }) => at)),
      ),
    });
  }

  #write(fault: PlantedFault | null): Script {
    const isSilent = (line: { unasked: boolean }) => this.#style.silentWallet && !line.unasked;
    return {
      startedAt: this.context.startedAt,
      entries: this.#lines.map((line) => (isSilent(line) ? silence(line.entry) : line.entry)),
      records: [...this.#records.values()],
      fault,
    };
  }

  #typeOf(callback: CallbackName, { type }: EntryTerms): string | null {
    const { ownType } = this.#style;
    if (type === "BY_ROUND" || ownType === "as written" || !HAVE_TYPE.has(callback)) return type ?? null;
    return ownType === "BY_BET" ? "BY_BET" : null;
  }

  #flagOf(callback: CallbackName, txn: string, at: Instant): false | null {
    const isPlaced = () =>
      this.#lines.some(
        (line) => line.txn === txn && line.entry.callback === "placeBets" && line.entry.occurredAt < at,
      );
    return callback === "settleBets" && this.#style.flagsPlaced && isPlaced() ? false : null;
  }

  #reportLag(): number {
    const { plan } = this.context;
    if (this.#style.prompt) return 0;
    if (this.#style.latestReport) return plan.lateReportMs ?? plan.reportLagMs;
    return this.random.below(this.random.oneIn(10) ? plan.reportLagMs : Math.ceil(plan.reportLagMs / 10));
  }

  #turn(name: string, at: Instant, accountedAt: Instant, record: BetRecord | null): this {
    const shown = this.#records.get(name) ?? [];
    shown.push({ at: Math.max(at, shown.at(-1)?.at ?? 0), accountedAt, record });
    this.#records.set(name, shown);
    return this;
  }

  #last(name: string): ShownVersion | undefined {
    return this.#records.get(name)?.at(-1);
  }
}

/** As a ledger keeps an entry that has whole seconds and random ids. */
function inWholeSeconds(entry: CallbackEntry): CallbackEntry {
  const cut = (at: Instant) => Math.floor(at / 1000) * 1000;
  return {
    ...entry,
    entryId: `${hashText(entry.entryId).toString(16)}-${entry.entryId}`,
    occurredAt: cut(entry.occurredAt),
    receivedAt: cut(entry.receivedAt),
  };
}

const SILENCED = new WeakMap<CallbackEntry, Amount>();

/** The entry of a wallet that does not say what it moved. */
function silence(entry: CallbackEntry): CallbackEntry {
  const silent = { ...entry, moved: null };
  SILENCED.set(silent, entry.moved ?? ZERO);
  return silent;
}

/** What the wallet moved for an entry of the world, even if the entry does not say so. */
export function trueMove(entry: CallbackEntry): Amount {
  return entry.moved ?? SILENCED.get(entry) ?? ZERO;
}

const HAVE_TYPE: ReadonlySet<CallbackName> = new Set(["settleBets", "cancelBets", "voidSettled", "rollback"]);

const STATUS_OF: Readonly<Record<CallbackName, string>> = {
  placeBets: "OPEN",
  settleBets: "SETTLED",
  cancelBets: "REFUND",
  voidSettled: "SETTLED",
  winRewards: "SETTLED",
  adjustBets: "OPEN",
  rollback: "ROLLBACK",
  placeTips: "TIPS",
  cancelTips: "REFUND",
  adjustBalance: "DEBIT",
};

function payoutStatusOf(status: BetStatus, stake: Amount, payout: Amount): PayoutStatus {
  if (status !== "SETTLED") return "UNKNOWN";
  if (payout.eq(stake)) return "DRAW";
  return payout.gt(stake) ? "WIN" : "LOSE";
}
