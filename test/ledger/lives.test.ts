import fc from "fast-check";
import { expect, test } from "vitest";
import type { LedgerBet } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import type { Amount } from "../../src/money.ts";
import { amount } from "../support/examples.ts";
import { ModelPlayer, showCents, type Turn, worthOf } from "./lives.ts";

const RUNS = { numRuns: 1500 };
const turn = fc.record({ what: fc.nat(60), bet: fc.nat(3), cents: fc.nat(500) });
const lives = fc.array(turn, { minLength: 1, maxLength: 30 });

function live(turns: readonly Turn[]): ModelPlayer {
  const player = new ModelPlayer();
  for (const next of turns) player.play(next);
  return player;
}

const fold = (entries: readonly CallbackEntry[]) =>
  foldEntries(entries, { singleState: false })
    .map(show)
    .sort((a, b) => (a.txnId < b.txnId ? -1 : 1));

function show({ txnId, status, stake, payout, moved, asked, placed, waiting, rewardOnly, tip }: LedgerBet) {
  const amounts = {
    stake: stake.toFixed(),
    payout: payout.toFixed(),
    moved: moved.toFixed(),
    asked: asked.toFixed(),
  };
  return { txnId, status, placed, waiting, rewardOnly, tip, ...amounts };
}

test("the ledger bet is worth the money that the wallet moved for it", () => {
  fc.assert(
    fc.property(lives, (turns) => {
      const { bets, entries } = live(turns);
      const folded = new Map(fold(entries).map((bet) => [bet.txnId, bet]));
      expect(folded.size).toBe(bets.length);
      for (const bet of bets) {
        const worth = showCents(worthOf(bet));
        expect(folded.get(bet.txnId)).toMatchObject({
          status: bet.status,
          stake: showCents(bet.stake),
          moved: worth,
          asked: worth,
          waiting: bet.isWaiting,
          tip: bet.kind === "tip",
          rewardOnly: bet.kind === "reward",
          // The comparison ignores the payout of a void bet.
          ...(bet.status === "void" ? {} : { payout: showCents(bet.settlement + bet.reward) }),
        });
      }
    }),
    RUNS,
  );
});

test("an entry without moved amounts counts as if the wallet moved what it asks for", () => {
  fc.assert(
    fc.property(lives, (turns) => {
      const { entries } = live(turns);
      expect(fold(entries.map((entry) => ({ ...entry, moved: null })))).toEqual(fold(entries));
    }),
    RUNS,
  );
});

test("the fold does not depend on the order in which entries are read", () => {
  const shuffled = lives.chain((turns) => {
    const { entries } = live(turns);
    return fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length }));
  });
  fc.assert(
    fc.property(shuffled, ([entries, read]) => {
      expect(fold(read)).toEqual(fold(entries));
    }),
    RUNS,
  );
});

test("repeated entries that moved nothing change nothing", () => {
  const repeats = fc.array(
    fc.record({ of: fc.nat(30), isSameRequest: fc.boolean(), laterBy: fc.nat(5_000) }),
  );
  fc.assert(
    fc.property(lives, repeats, (turns, asked) => {
      const { entries } = live(turns);
      const again = asked.map(({ of, isSameRequest, laterBy }, index) => {
        const entry = entries[of % entries.length] as CallbackEntry;
        // A copy with another request id follows its original directly; a copy of the same request may come at any time.
        const at = entry.occurredAt + (isSameRequest ? laterBy : laterBy % 1000);
        const requestId = isSameRequest ? entry.requestId : `again-${index}`;
        return {
          ...entry,
          entryId: `again-${index}`,
          requestId,
          moved: amount("0"),
          occurredAt: at,
          receivedAt: at,
        };
      });
      expect(fold([...entries, ...again])).toEqual(fold(entries));
    }),
    RUNS,
  );
});

test("a repeated entry counts only with the money that it moved", () => {
  fc.assert(
    fc.property(lives, fc.nat(30), (turns, of) => {
      const { entries } = live(turns);
      const entry = entries[of % entries.length] as CallbackEntry;
      const at = entry.occurredAt + 500;
      const repeat = { ...entry, entryId: "again", moved: amount("1"), occurredAt: at, receivedAt: at };
      const sum = (bets: readonly { moved: string }[]) =>
        bets.reduce((total, bet) => total.plus(bet.moved), amount("0")).toFixed();
      const [once, twice] = [fold(entries), fold([...entries, repeat])];
      expect(sum(twice)).toBe(amount(sum(once)).plus("1").toFixed());
      const withoutMoved = (bets: typeof once) => bets.map((bet) => ({ ...bet, moved: "" }));
      expect(withoutMoved(twice)).toEqual(withoutMoved(once));
    }),
    RUNS,
  );
});

test("each entry counts in its own currency; a bet has the currency of its placement", () => {
  fc.assert(
    fc.property(
      lives,
      fc.array(fc.constantFrom("THB", "THB", "THB", "USD", "EUR"), { minLength: 30 }),
      (turns, given) => {
        const entries = live(turns).entries.map((entry, index) => ({
          ...entry,
          currency: given[index] ?? "THB",
        }));
        const bets = foldEntries(entries, { singleState: false });
        const folded = bets.flatMap((bet) => [bet, ...bet.others]);
        for (const currency of ["THB", "USD", "EUR"]) {
          const sumOf = (all: readonly { currency: string; moved: Amount | null }[]) =>
            all
              .filter((one) => one.currency === currency)
              .reduce((sum, { moved }) => sum.plus(moved ?? "0"), amount("0"))
              .toFixed();
          expect(sumOf(folded)).toBe(sumOf(entries));
        }
        for (const bet of bets) {
          const own = entries.filter(({ txnId }) => txnId === bet.txnId);
          const placement = own.find(({ callback }) => callback === "placeBets" || callback === "placeTips");
          expect(bet.currency).toBe((placement ?? own[0])?.currency);
          expect(bet.others.map(({ currency }) => currency)).not.toContain(bet.currency);
          // A BY_ROUND entry acts on the bets of its own currency, even if it names another bet.
          for (const { currency } of own.filter(({ transactionType }) => transactionType !== "BY_ROUND"))
            expect([bet, ...bet.others].map((one) => one.currency)).toContain(currency);
        }
      },
    ),
    RUNS,
  );
});
