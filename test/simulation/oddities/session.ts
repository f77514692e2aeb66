/** Products that move money by adjustBalance (§4.A8): into the game, and out again; and by rewards. */

import type { Instant } from "../../../src/clock.ts";
import { type Amount, sumAmounts, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
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
  /** a jackpot, which the report shows without a stake */
  readonly reward: SessionMove | null;
  /** what the wallet moved more than the first debit asks for */
  readonly movedMore: Amount;
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
    .plus(spoilt.movedMore)
    .plus(spoilt.reward === null && session.reward !== null ? session.reward.amount.neg() : ZERO)
    .abs();
  return writeEntries(round, { ...spoilt, listed: session.reward }).wrong(
    spoilt.movedMore.eq(ZERO) ? "session-differs" : "net-differs",
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
  (session) => ({ ...session, debits: [], credits: [], shots: session.shots.slice(0, 1) }),
  // The report shows a jackpot that was never paid: without one, a credit that was never listed.
  (session) =>
    session.reward === null
      ? { ...session, credits: session.credits.slice(1) }
      : { ...session, reward: null },
  // A debit moves another amount than it asks for.
  (session, round) => ({ ...session, movedMore: difference(round) }),
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
  const credits = [{ at: minute(round.random.between(25, 38)), amount: out.plus(left) }];
  const reward = round.random.oneIn(3)
    ? { at: minute(round.random.between(3, 20)), amount: round.money() }
    : null;
  return { debits, credits, shots, reward, movedMore: ZERO };
}

function balanceOf(moves: readonly SessionMove[]): Amount {
  return sumAmounts(moves.map(({ amount }) => amount));
}

/** @param listed the reward as the report shows it; undefined: as the wallet paid it */
function writeEntries(
  round: RoundScript,
  {
    debits,
    credits,
    shots,
    reward,
    movedMore,
    listed = reward,
  }: ScriptedSession & { listed?: SessionMove | null },
): RoundScript {
  for (const [index, { at, amount }] of debits.entries()) {
    const more = index === 0 ? movedMore : ZERO;
    const terms = { status: "DEBIT", bet: amount, moved: amount.neg().plus(more), unasked: !more.eq(ZERO) };
    round.say("adjustBalance", "-", at, terms);
  }
  for (const { at, amount } of credits) {
    round.say("adjustBalance", "-", at, { status: "CREDIT", payout: amount, moved: amount });
  }
  if (reward !== null) {
    const name = "jackpot";
    round.say("winRewards", name, reward.at, {
      payout: reward.amount,
      moved: reward.amount,
      round: round.txnId(name),
    });
  }
  if (listed !== null) {
    const name = "jackpot";
    round.show(name, listed.at, {
      status: "SETTLED",
      stake: ZERO,
      payout: listed.amount,
      round: round.txnId(name),
    });
  }
  for (const [index, { at, stake, payout }] of shots.entries()) {
    const name = `shot${index + 1}`;
    round.show(name, at, { status: "SETTLED", stake, payout, round: round.txnId(name) });
  }
  return round;
}
