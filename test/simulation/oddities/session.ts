/** Products that move money only by adjustBalance (§4.A8): into the game, and out again. */

import type { Instant } from "../../../src/clock.ts";
import { type Amount, sumAmounts, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/script.ts";
import { difference } from "./bet-faults.ts";
import { NOTHING } from "./books.ts";
import type { RoundScript } from "./round-script.ts";

const MINUTE_MS = 60_000;

/** The longest time from the first callback to the last. Pauses are shorter than half of it. */
export const LONGEST_SESSION_MS = 40 * MINUTE_MS;

/** The move of a callback or a record, signed from the player's point of view. */
interface SessionMove {
  readonly at: Instant;
  readonly amount: Amount;
}

interface Shot extends SessionMove {
  readonly stake: Amount;
  readonly payout: Amount;
}

interface ScriptedSession {
  readonly debits: readonly SessionMove[];
  readonly credits: readonly SessionMove[];
  readonly shots: readonly Shot[];
}

/** Removes or changes a part of a session for one side. The difference is never 0. */
type Spoil = (session: ScriptedSession, round: RoundScript) => ScriptedSession;

/** Both sides agree in the end, with any pauses. */
export function playSession(round: RoundScript): Script {
  return writeEntries(round, drawSession(round)).right();
}

export function spoilSession(round: RoundScript, spoil: Spoil): Script {
  const session = drawSession(round);
  const spoilt = spoil(session, round);
  const atRisk = balanceOf(spoilt.credits)
    .minus(balanceOf(spoilt.debits))
    .minus(balanceOf(spoilt.shots))
    .abs();
  return writeEntries(round, spoilt).wrong(
    "session-differs",
    { bets: [], records: [], ledger: NOTHING, names: "nothing" },
    atRisk,
  );
}

export const SESSION_SPOILS: readonly [Spoil, ...Spoil[]] = [
  // The player's money stays in the game.
  (session) => ({ ...session, credits: session.credits.slice(1) }),
  // The report never shows a shot.
  (session) => ({ ...session, shots: session.shots.slice(1) }),
  // A debit does not arrive.
  (session) => ({ ...session, debits: session.debits.slice(1) }),
  // The report shows a shot with another payout.
  (session, round) => ({
    ...session,
    shots: session.shots.map((shot, index) => {
      const more = index === 0 ? difference(round) : ZERO;
      return { ...shot, payout: shot.payout.plus(more), amount: shot.amount.plus(more) };
    }),
  }),
  // Every callback is lost. Only one shot remains, so that the sum of the shots is not 0.
  (session) => ({ debits: [], credits: [], shots: session.shots.slice(0, 1) }),
];

function drawSession(round: RoundScript): ScriptedSession {
  const { startedAt } = round.context;
  const minute = (number: number) => startedAt + number * MINUTE_MS;
  // With a pause in the middle, or without.
  const minutes = round.random.pick<readonly number[]>([
    [1, 2, 3],
    [2, 19, 21],
    [1, 4, 9, 14, 20],
  ]);
  const shots = minutes.map((number): Shot => {
    const stake = round.money();
    // The payout is never the stake, so that each shot moves money.
    const payout = round.random.oneIn(2) ? ZERO : stake.times("3");
    return { at: minute(number), stake, payout, amount: payout.minus(stake) };
  });
  const stakes = sumAmounts(shots.map(({ stake }) => stake));
  const spare = round.random.oneIn(3) ? ZERO : round.money();
  const debits: SessionMove[] = [{ at: minute(0), amount: stakes }];
  if (!spare.eq(ZERO)) debits.push({ at: minute(12), amount: spare });
  const out = balanceOf(debits).plus(balanceOf(shots));
  // Some money always comes back, so that there is a credit to lose.
  const left = out.eq(ZERO) ? round.money() : ZERO;
  if (!left.eq(ZERO)) debits.push({ at: minute(15), amount: left });
  return { debits, credits: [{ at: minute(round.random.between(25, 38)), amount: out.plus(left) }], shots };
}

function balanceOf(moves: readonly SessionMove[]): Amount {
  return sumAmounts(moves.map(({ amount }) => amount));
}

function writeEntries(round: RoundScript, { debits, credits, shots }: ScriptedSession): RoundScript {
  for (const { at, amount } of debits) {
    round.say("adjustBalance", "-", at, { status: "DEBIT", bet: amount, moved: amount.neg() });
  }
  for (const { at, amount } of credits) {
    round.say("adjustBalance", "-", at, { status: "CREDIT", payout: amount, moved: amount });
  }
  for (const [index, { at, stake, payout }] of shots.entries()) {
    const name = `shot${index + 1}`;
    round.show(name, at, { status: "SETTLED", stake, payout, round: round.txnId(name) });
  }
  return round;
}
