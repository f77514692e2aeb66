/** The stories of bets that change after their day: late callbacks, restated records, deleted and replaced entries. */

import type { Instant } from "../../../src/clock.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../../src/money.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import { type ChangingBet, entry, NO_SIDE, place, running, settle, settled, shown } from "./changing-bet.ts";

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** The report shows a record this long after it was made. */
const REPORT_LAG_MS = 30_000;

/** A bet before its story. */
export interface Beginning {
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  readonly txnId: string;
  readonly startedAt: Instant;
  readonly random: Random;
  /** moves a moment away from the times at which the worker works */
  readonly quiet: (at: Instant) => Instant;
  /** the days after which the change arrives, and after which the longest bets end */
  readonly lateDays: number;
  readonly longDays: number;
}

type Told = Pick<ChangingBet, "entries" | "records" | "states"> &
  Partial<Pick<ChangingBet, "edits" | "mayShow" | "mustShow" | "refetch" | "ids">>;
type Story = (bet: Drawn) => Told;

interface Drawn extends Beginning {
  readonly roundId: string;
  readonly stake: Amount;
  readonly payout: Amount;
  /** another payout */
  readonly other: Amount;
  readonly endsAt: Instant;
  /** when the change arrives */
  readonly changesAt: Instant;
}

export function tellBet(beginning: Beginning): ChangingBet {
  const { random, startedAt, quiet, productId, username, currency, txnId, lateDays } = beginning;
  const stake = drawMoney(random);
  const payout = random.oneIn(3) ? ZERO : stake.times(random.pick(["0.5", "1", "1.95", "2", "36"]));
  const drawn: Drawn = {
    ...beginning,
    roundId: `round-${txnId}`,
    stake,
    payout,
    other: payout.plus(drawMoney(random)),
    endsAt: startedAt + random.between(1, 15) * MINUTE_MS,
    changesAt: quiet(startedAt + lateDays * DAY_MS + random.between(0, 20 * 60) * MINUTE_MS),
  };
  const [name, story] = random.pick(STORIES);
  return {
    story: name,
    productId,
    username,
    currency,
    ids: [txnId, `r-${txnId}`],
    startedAt,
    edits: [],
    mayShow: [],
    mustShow: null,
    refetch: [],
    ...story(drawn),
  };
}

export function drawMoney(random: Random): Amount {
  return parseAmount(`${random.between(1, 400)}.${String(random.below(10_000)).padStart(4, "0")}`, "amount");
}

const inTime = ({ endsAt }: Drawn) => ({ shownAt: endsAt + REPORT_LAG_MS, accountedAt: endsAt });

const plain: Story = (bet) => {
  const { startedAt, endsAt, stake, payout } = bet;
  const side = settled(stake, payout);
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout)],
    records: [[shown(bet, inTime(bet), "SETTLED", stake, payout)]],
    states: [{ from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: side, ledger: side }] }],
  };
};

const lateSettle: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout } = bet;
  const provider = settled(stake, payout);
  const count = { at: endsAt, provider };
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout, changesAt)],
    records: [[shown(bet, inTime(bet), "SETTLED", stake, payout)]],
    states: [
      { from: endsAt, isOpen: true, counts: [{ ...count, ledger: running(stake) }] },
      { from: changesAt, isOpen: false, counts: [{ ...count, ledger: provider }] },
    ],
    mustShow: "missing-settlement",
  };
};

const lateCallbacks: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout } = bet;
  const provider = settled(stake, payout);
  const count = { at: endsAt, provider };
  return {
    entries: [
      place(bet, startedAt, stake, changesAt),
      settle(bet, endsAt, stake, payout, changesAt + MINUTE_MS),
    ],
    records: [[shown(bet, inTime(bet), "SETTLED", stake, payout)]],
    states: [
      { from: endsAt, isOpen: false, counts: [{ ...count, ledger: NO_SIDE }] },
      { from: changesAt, isOpen: false, counts: [{ ...count, ledger: provider }] },
    ],
    mustShow: "missing-in-ledger",
  };
};

/** The record appears late, with the next day's date, or with that of its end. */
const lateRecord: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout, random } = bet;
  const side = settled(stake, payout);
  const accountedAt = random.oneIn(2) ? endsAt : endsAt + DAY_MS;
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout)],
    records: [[shown(bet, { shownAt: changesAt, accountedAt }, "SETTLED", stake, payout)]],
    states: [
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: NO_SIDE, ledger: side }] },
      { from: changesAt, isOpen: false, counts: [{ at: accountedAt, provider: side, ledger: side }] },
    ],
    mustShow: "missing-at-provider",
    refetch: [{ from: accountedAt, to: accountedAt + 1, after: changesAt }],
  };
};

/** The provider states another payout later; sometimes it takes that back. */
const restated: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout, other, random, quiet } = bet;
  const before = settled(stake, payout);
  const after = settled(stake, other);
  const backAt = random.oneIn(3) ? quiet(changesAt + random.between(1, 2) * DAY_MS) : null;
  const back = backAt ?? 0;
  const at = { from: endsAt, to: endsAt + 1 };
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout)],
    records: [
      [
        shown(bet, inTime(bet), "SETTLED", stake, payout),
        shown(bet, { shownAt: changesAt, accountedAt: endsAt }, "SETTLED", stake, other),
        ...(backAt === null
          ? []
          : [shown(bet, { shownAt: back, accountedAt: endsAt }, "SETTLED", stake, payout)]),
      ],
    ],
    states: [
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: before, ledger: before }] },
      { from: changesAt, isOpen: false, counts: [{ at: endsAt, provider: after, ledger: before }] },
      ...(backAt === null
        ? []
        : [{ from: back, isOpen: false, counts: [{ at: endsAt, provider: before, ledger: before }] }]),
    ],
    mayShow: ["payout-differs"],
    mustShow: backAt === null ? "payout-differs" : null,
    refetch: [{ ...at, after: changesAt }, ...(backAt === null ? [] : [{ ...at, after: back }])],
  };
};

/** The record moves to a later day. */
const moved: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout, random } = bet;
  const side = settled(stake, payout);
  const accountedAt = endsAt + random.between(1, 3) * DAY_MS;
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout)],
    records: [
      [
        shown(bet, inTime(bet), "SETTLED", stake, payout),
        shown(bet, { shownAt: changesAt, accountedAt }, "SETTLED", stake, payout),
      ],
    ],
    states: [
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: side, ledger: side }] },
      { from: changesAt, isOpen: false, counts: [{ at: accountedAt, provider: side, ledger: side }] },
    ],
    refetch: [{ from: endsAt, to: accountedAt + 1, after: changesAt }],
  };
};

/** Both sides take the bet back later. */
const voided: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout } = bet;
  const side = settled(stake, payout);
  return {
    entries: [
      place(bet, startedAt, stake),
      settle(bet, endsAt, stake, payout),
      entry(bet, 3, {
        callback: "voidSettled",
        status: "VOID",
        occurredAt: changesAt,
        receivedAt: changesAt,
        betAmount: stake,
        payoutAmount: payout,
        moved: stake.minus(payout),
      }),
    ],
    records: [
      [
        shown(bet, inTime(bet), "SETTLED", stake, payout),
        shown(bet, { shownAt: changesAt, accountedAt: endsAt }, "VOID", stake, ZERO),
      ],
    ],
    states: [
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: side, ledger: side }] },
      { from: changesAt, isOpen: false, counts: [] },
    ],
    mayShow: ["status-differs"],
    refetch: [{ from: endsAt, to: endsAt + 1, after: changesAt }],
  };
};

/** An operator deletes the settlement from the ledger. The bet is open for ever. */
const deletedEntry: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout } = bet;
  const provider = settled(stake, payout);
  const count = { at: endsAt, provider };
  const ending = settle(bet, endsAt, stake, payout);
  return {
    entries: [place(bet, startedAt, stake), ending],
    records: [[shown(bet, inTime(bet), "SETTLED", stake, payout)]],
    edits: [{ at: changesAt, entryId: ending.entryId, payout: null }],
    states: [
      { from: endsAt, isOpen: false, counts: [{ ...count, ledger: provider }] },
      { from: changesAt, isOpen: true, counts: [{ ...count, ledger: running(stake) }] },
    ],
    mustShow: "missing-settlement",
  };
};

/** An operator corrects the settlement in the ledger, to a wrong amount. */
const replacedEntry: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout, other } = bet;
  const provider = settled(stake, payout);
  const count = { at: endsAt, provider };
  const ending = settle(bet, endsAt, stake, payout);
  return {
    entries: [place(bet, startedAt, stake), ending],
    records: [[shown(bet, inTime(bet), "SETTLED", stake, payout)]],
    edits: [{ at: changesAt, entryId: ending.entryId, payout: formatAmount(other) }],
    states: [
      { from: endsAt, isOpen: false, counts: [{ ...count, ledger: provider }] },
      { from: changesAt, isOpen: false, counts: [{ ...count, ledger: settled(stake, other) }] },
    ],
    mustShow: "payout-differs",
  };
};

/** A bet on something far away. It counts on the day of its placement while it runs, then on that of its end. */
const long: Story = (bet) => {
  const { startedAt, stake, payout, quiet, longDays } = bet;
  const endsAt = quiet(startedAt + longDays * DAY_MS);
  const side = settled(stake, payout);
  const runs = running(stake);
  return {
    entries: [place(bet, startedAt, stake), settle(bet, endsAt, stake, payout)],
    records: [
      [
        shown(bet, { shownAt: startedAt + REPORT_LAG_MS, accountedAt: startedAt }, "OPEN", stake, ZERO),
        shown(bet, { shownAt: endsAt + REPORT_LAG_MS, accountedAt: endsAt }, "SETTLED", stake, payout),
      ],
    ],
    states: [
      { from: startedAt, isOpen: true, counts: [{ at: startedAt, provider: runs, ledger: runs }] },
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: side, ledger: side }] },
    ],
  };
};

/** A jackpot is paid later, and the provider adds it to the old record. */
const rewarded: Story = (bet) => {
  const { startedAt, endsAt, changesAt, stake, payout, other } = bet;
  const before = settled(stake, payout);
  const after = settled(stake, other);
  const reward = other.minus(payout);
  return {
    entries: [
      place(bet, startedAt, stake),
      settle(bet, endsAt, stake, payout),
      entry(bet, 3, {
        callback: "winRewards",
        status: "SETTLED",
        occurredAt: changesAt,
        receivedAt: changesAt,
        payoutAmount: reward,
        moved: reward,
      }),
    ],
    records: [
      [
        shown(bet, inTime(bet), "SETTLED", stake, payout),
        shown(bet, { shownAt: changesAt, accountedAt: endsAt }, "SETTLED", stake, other),
      ],
    ],
    states: [
      { from: endsAt, isOpen: false, counts: [{ at: endsAt, provider: before, ledger: before }] },
      { from: changesAt, isOpen: false, counts: [{ at: endsAt, provider: after, ledger: after }] },
    ],
    mayShow: ["payout-differs"],
    refetch: [{ from: endsAt, to: endsAt + 1, after: changesAt }],
  };
};

/** A round of three bets. The settlement of the last one is late; then the round agrees as one, on its last moment. */
const round: Story = (bet) => {
  const { endsAt, changesAt, txnId, random } = bet;
  const bets = [1, 2, 3].map((number) => ({
    ...bet,
    txnId: `${txnId}-${number}`,
    startedAt: bet.startedAt + number * 1_000,
    endsAt: endsAt + number * 3 * MINUTE_MS,
    stake: drawMoney(random),
    payout: random.oneIn(2) ? ZERO : drawMoney(random),
  }));
  const sides = bets.map(({ stake, payout }) => settled(stake, payout));
  const lastAt = Math.max(...bets.map((one) => one.endsAt));
  const sideOf = (index: number) => sides[index] ?? NO_SIDE;
  return {
    ids: bets.flatMap((one) => [one.txnId, `r-${one.txnId}`]),
    entries: bets.flatMap((one, index) => [
      place(one, one.startedAt, one.stake),
      settle(one, one.endsAt, one.stake, one.payout, index === 2 ? changesAt : undefined),
    ]),
    records: bets.map((one) => [shown(one, inTime(one), "SETTLED", one.stake, one.payout)]),
    states: [
      {
        from: lastAt,
        isOpen: true,
        counts: bets.map((one, index) => ({
          at: one.endsAt,
          provider: sideOf(index),
          ledger: index === 2 ? running(one.stake) : sideOf(index),
        })),
      },
      {
        from: changesAt,
        isOpen: false,
        counts: sides.map((side) => ({ at: lastAt, provider: side, ledger: side })),
      },
    ],
    mustShow: "missing-settlement",
  };
};

const STORIES: readonly [[string, Story], ...[string, Story][]] = [
  ["plain", plain],
  ["late settlement", lateSettle],
  ["late callbacks", lateCallbacks],
  ["late record", lateRecord],
  ["restated", restated],
  ["moved to another day", moved],
  ["voided", voided],
  ["deleted entry", deletedEntry],
  ["replaced entry", replacedEntry],
  ["long", long],
  ["rewarded", rewarded],
  ["round", round],
];
