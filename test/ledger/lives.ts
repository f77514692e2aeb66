/**
 * Lives of the bets of one round, played by a model that does not use the fold. The model knows what each bet is worth to
 * the player, and its wallet moves the difference.
 */

import type { LedgerStatus } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { amount, exampleEntry, NOON } from "../support/examples.ts";

/** A bet as the model knows it; amounts in cents. */
export interface ModelBet {
  readonly txnId: string;
  status: LedgerStatus;
  stake: number;
  /** of the stake, what the player has paid */
  paid: number;
  settlement: number;
  reward: number;
  kind: "bet" | "reward" | "tip";
  isWaiting: boolean;
}

/** What happens next: what kind of turn, to which bet, with how much money. */
export interface Turn {
  readonly what: number;
  readonly bet: number;
  readonly cents: number;
}

/** What a bet is worth to the player, in cents. */
export function worthOf({ status, stake, paid, settlement, reward }: ModelBet): number {
  if (status === "void") return 0;
  return status === "open" ? settlement + reward - paid : settlement + reward - stake;
}

export function showCents(cents: number): string {
  return amount(`${cents}e-2`).toFixed();
}

export class ModelPlayer {
  readonly bets: ModelBet[] = [];
  readonly entries: CallbackEntry[] = [];
  readonly #turns: readonly PossibleTurn[];

  /** @param options settlesOnce: no settlement follows one that did not announce it */
  constructor({ settlesOnce = false } = {}) {
    this.#turns = TURNS.filter(({ isUnannounced = false }) => !(settlesOnce && isUnannounced));
  }

  /** Plays one turn if the rules allow it now. */
  play({ what, bet: index, cents }: Turn): void {
    const name = `bet-${index}`;
    const bet = this.bets.find(({ txnId }) => txnId === name);
    if (bet === undefined) {
      this.#begin(name, what, cents);
      return;
    }
    const turns = this.#turns.filter(({ when }) => when(bet, this.bets));
    const turn = turns[what % turns.length];
    if (turn === undefined) return;
    this.#say(name, () => turn.play(bet, cents, this.bets));
  }

  #begin(txnId: string, what: number, cents: number): void {
    const begun: ModelBet = {
      txnId,
      status: "open",
      stake: cents,
      paid: cents,
      settlement: 0,
      reward: 0,
      kind: "bet",
      isWaiting: false,
    };
    this.#say(txnId, () => {
      this.bets.push(begun);
      switch (what % 6) {
        case 0:
          Object.assign(begun, { stake: 0, paid: 0, reward: cents, status: "settled", kind: "reward" });
          return { callback: "winRewards", payoutAmount: amount(showCents(cents)) };
        case 1:
          Object.assign(begun, { status: "settled", kind: "tip" });
          return { callback: "placeTips", status: "TIPS", betAmount: amount(showCents(cents)) };
        case 2:
          Object.assign(begun, { paid: 0, isWaiting: true });
          return placement("WAITING", cents, { skipBalanceUpdate: true });
        case 3:
          begun.isWaiting = true;
          return placement("WAITING", cents);
        default:
          return placement("OPEN", cents);
      }
    });
  }

  #say(txnId: string, change: () => Partial<CallbackEntry>): void {
    const worth = () => this.bets.reduce((sum, bet) => sum + worthOf(bet), 0);
    const before = worth();
    const said = change();
    // Further apart than the two seconds in which a BY_ROUND entry still ends a later placement.
    const at = NOON + this.entries.length * 3000;
    const moved = amount(showCents(worth() - before));
    const plain = { betAmount: null, occurredAt: at, receivedAt: at };
    this.entries.push(exampleEntry({ ...plain, txnId, ...said, moved }));
  }
}

function placement(
  status: string,
  cents: number,
  fields: Partial<CallbackEntry> = {},
): Partial<CallbackEntry> {
  return { callback: "placeBets", status, betAmount: amount(showCents(cents)), ...fields };
}

interface PossibleTurn {
  readonly isUnannounced?: boolean;
  readonly when: (bet: ModelBet, all: readonly ModelBet[]) => boolean;
  readonly play: (bet: ModelBet, cents: number, all: readonly ModelBet[]) => Partial<CallbackEntry>;
}

const isOpen = (bet: ModelBet) => bet.kind === "bet" && bet.status === "open";
const hasEnded = (bet: ModelBet) => bet.kind === "bet" && bet.status !== "open";
const isUnpaid = ({ settlement, reward }: ModelBet) => settlement === 0 && reward === 0;
const isTaken = (bet: ModelBet) => isOpen(bet) && !bet.isWaiting;
const byRound = { transactionType: "BY_ROUND" };

/** What can happen to a bet that has begun: only what a provider would do and an operator would accept. */
const TURNS: readonly PossibleTurn[] = [
  {
    when: (bet) => isOpen(bet) && bet.isWaiting,
    play: (bet, cents) => {
      Object.assign(bet, { stake: cents, paid: cents, isWaiting: false });
      return placement("OPEN", cents);
    },
  },
  {
    when: isTaken,
    play: (bet, cents) => {
      const stake = cents === bet.stake ? cents + 1 : cents;
      Object.assign(bet, { stake, paid: stake });
      return { callback: "adjustBets", betAmount: amount(showCents(stake)) };
    },
  },
  {
    // A partial settlement: the bet stays open.
    when: isTaken,
    play: (bet, cents) => {
      bet.settlement += cents;
      const payoutAmount = amount(showCents(cents));
      return { callback: "settleBets", status: "SETTLED", payoutAmount, endRound: false };
    },
  },
  { when: isTaken, play: settle },
  {
    // A ledger without a flag for parts has several settlements of a bet.
    isUnannounced: true,
    when: (bet) => bet.kind === "bet" && bet.status === "settled",
    play: settle,
  },
  {
    when: (bet, all) => isTaken(bet) && all.filter(isOpen).every((one) => !one.isWaiting),
    play: (bet, cents, all) => {
      for (const one of all.filter(isOpen)) one.status = "settled";
      bet.settlement += cents;
      return {
        callback: "settleBets",
        status: "SETTLED",
        payoutAmount: amount(showCents(cents)),
        ...byRound,
      };
    },
  },
  {
    when: (bet) => isTaken(bet) || (bet.kind !== "tip" && bet.status === "settled"),
    play: (bet, cents) => {
      bet.reward += cents;
      return { callback: "winRewards", payoutAmount: amount(showCents(cents)) };
    },
  },
  {
    when: (bet) => bet.kind === "reward" && bet.status === "settled",
    play: (bet, cents) => {
      Object.assign(bet, { kind: "bet", status: "open", stake: cents, paid: cents });
      return placement("OPEN", cents);
    },
  },
  {
    when: (bet) => isOpen(bet) && isUnpaid(bet),
    play: (bet) => {
      Object.assign(bet, { status: "void", isWaiting: false, paid: 0 });
      return { callback: "cancelBets", status: "REJECT" };
    },
  },
  {
    when: (bet, all) => isOpen(bet) && all.filter(isOpen).every(isUnpaid),
    play: (_, _cents, all) => {
      for (const one of all.filter(isOpen)) Object.assign(one, { status: "void", isWaiting: false, paid: 0 });
      return { callback: "cancelBets", status: "REFUND", ...byRound };
    },
  },
  {
    when: (bet) => bet.kind === "bet" && bet.status === "settled",
    play: (bet) => {
      Object.assign(bet, { status: "void", settlement: 0, reward: 0, paid: 0 });
      return { callback: "voidSettled" };
    },
  },
  {
    when: hasEnded,
    play: (bet, cents) => rollBack([bet], cents % 2 === 0),
  },
  {
    when: hasEnded,
    play: (_, cents, all) => ({ ...rollBack(all.filter(hasEnded), cents % 2 === 0), ...byRound }),
  },
  {
    when: (bet) => bet.kind === "tip" && bet.status === "settled",
    play: (bet) => {
      bet.status = "void";
      return { callback: "cancelTips", status: "REFUND", betAmount: amount(showCents(bet.stake)) };
    },
  },
];

function settle(bet: ModelBet, cents: number): Partial<CallbackEntry> {
  const payout = cents % 3 === 0 ? 0 : cents;
  bet.status = "settled";
  bet.settlement += payout;
  return { callback: "settleBets", status: "SETTLED", payoutAmount: amount(showCents(payout)) };
}

function rollBack(bets: readonly ModelBet[], withRewards: boolean): Partial<CallbackEntry> {
  const settled = bets.filter(({ status }) => status === "settled");
  const refunded = bets.filter(({ status }) => status === "void");
  const payout = settled.reduce((sum, bet) => sum + bet.settlement + (withRewards ? bet.reward : 0), 0);
  const refund = refunded.reduce((sum, bet) => sum + bet.stake, 0);
  for (const bet of settled) {
    Object.assign(bet, {
      status: "open",
      settlement: 0,
      reward: withRewards ? 0 : bet.reward,
      paid: bet.stake,
    });
  }
  for (const bet of refunded) Object.assign(bet, { status: "open", paid: bet.stake });
  return {
    callback: "rollback",
    status: "ROLLBACK",
    payoutAmount: amount(showCents(payout)),
    betAmount: amount(showCents(refund)),
    transactionType: "BY_TRANSACTION",
  };
}
