import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { findBrokenLinks } from "../../src/diff/balance-chain.ts";
import { askedByEntry } from "../../src/ledger/fold.ts";
import { amount, exampleEntry, NOON } from "../support/examples.ts";
import { type ModelRequest, modelChain } from "./chain-model.ts";

/** The callbacks of a history: what each moves, and whether its amount is the stake. */
const ACTIONS: readonly (readonly [callback: CallbackEntry["callback"], sign: -1 | 0 | 1, status: string])[] =
  [
    ["placeBets", -1, "OPEN"],
    ["settleBets", 1, "SETTLED"],
    ["settleBets", 0, "SETTLED"],
    ["winRewards", 1, "SETTLED"],
    ["placeTips", -1, "TIPS"],
    ["adjustBalance", -1, "DEBIT"],
    ["adjustBalance", 1, "CREDIT"],
  ];

interface Turn {
  readonly action: number;
  readonly product: "P1" | "P2";
  readonly currency: "THB" | "USD";
  readonly cents: number;
  /** since the turn before, and how long before and after its moment it was sent and received */
  readonly gap: number;
  readonly sent: number;
  readonly received: number;
  readonly nulls: "none" | "before" | "after" | "both" | "moved" | "all";
  /** of a request with two items, the balances are in both rows or in one */
  readonly items: 1 | 2;
  readonly fault: "none" | "lost" | "refused" | "stale" | "wrongBefore" | "wrongAfter" | "unsaid";
  /** a repeat of this turn follows, much later or at once, under the same request id or another, answered so */
  readonly repeat: "none" | "first" | "old" | "older" | "current" | "null";
  readonly isOtherRequest: boolean;
}

const turns = (faults: readonly Turn["fault"][], nulls: readonly Turn["nulls"][], most: number) =>
  fc.array(
    fc.record({
      action: fc.nat(ACTIONS.length - 1),
      product: fc.constantFrom("P1" as const, "P2" as const),
      currency: fc.constantFrom("THB" as const, "THB" as const, "USD" as const),
      cents: fc.constantFrom(1, 10, 10, 25),
      gap: fc.constantFrom(0, 400, 1000, 5000),
      sent: fc.constantFrom(0, 0, 300, 1500),
      received: fc.constantFrom(0, 0, 300, 1500),
      nulls: fc.constantFrom(...nulls),
      items: fc.constantFrom(1 as const, 1 as const, 2 as const),
      fault: fc.constantFrom(...faults),
      repeat: fc.constantFrom<Turn["repeat"]>("none", "none", "first", "old", "older", "current", "null"),
      isOtherRequest: fc.boolean(),
    }),
    { minLength: 1, maxLength: most },
  );

interface History {
  readonly entries: readonly CallbackEntry[];
  /** by currency */
  readonly requests: ReadonlyMap<string, readonly ModelRequest[]>;
}

/** Plays turns on a wallet, and writes what an operator's program would write about them. */
function playTurns(all: readonly Turn[], isWhole: boolean, begins = false): History {
  const wallet = new Map<string, number>();
  const entries: CallbackEntry[] = [];
  const requests = new Map<string, ModelRequest[]>();
  const cents = (value: number | null) => (value === null ? null : amount(`${value}e-2`));
  let clock = 0;
  const timesOf = ({ sent, received }: Pick<Turn, "sent" | "received">) => {
    const round = (ms: number) => NOON + (isWhole ? Math.floor(ms / 1000) * 1000 : ms);
    return { occurredAt: round(clock - sent), receivedAt: round(clock + received) };
  };
  const play = (turn: Turn, number: number) => {
    clock += turn.gap;
    const [callback, sign, status] = ACTIONS[turn.action] ?? ["placeBets", -1, "OPEN"];
    const moved = sign * turn.cents * turn.items;
    const had = wallet.get(turn.currency) ?? 100_000;
    if (turn.fault === "refused") return;
    wallet.set(turn.currency, had + moved);
    if (turn.fault === "lost") return;
    const read = turn.fault === "stale" ? had + 7 : turn.fault === "wrongBefore" ? had + 3 : had;
    const left =
      turn.fault === "stale" ? read + moved : turn.fault === "wrongAfter" ? had + moved + 3 : had + moved;
    const has = (side: "before" | "after") =>
      turn.nulls !== side && turn.nulls !== "both" && turn.nulls !== "all";
    const [before, after] = [has("before") ? read : null, has("after") ? left : null];
    const saysMoved = turn.fault !== "unsaid" && turn.nulls !== "moved" && turn.nulls !== "all";
    const requestId = `q${number}`;
    const times = timesOf(turn);
    const write = (item: number, fields: Partial<CallbackEntry>) => {
      const said = turn.fault === "unsaid" ? null : cents(turn.cents);
      const entry = exampleEntry({
        entryId: `e${entries.length}`,
        callback,
        status,
        productId: turn.product,
        currency: turn.currency,
        requestId,
        txnId: `t${number}-${item}`,
        roundId: null,
        betAmount: sign < 0 ? said : null,
        payoutAmount: sign < 0 ? null : sign === 0 ? amount("0") : said,
        ...fields,
      });
      entries.push(entry);
      return entry;
    };
    const own = [...Array(turn.items).keys()].map((item) =>
      write(item, {
        ...times,
        moved: saysMoved ? cents(sign * turn.cents) : null,
        balanceBefore: item === 0 || turn.cents > 1 ? cents(before) : null,
        balanceAfter: item === 0 || turn.cents > 1 ? cents(after) : null,
      }),
    );
    const ofCurrency = requests.get(turn.currency) ?? [];
    // What an item without amounts asks for is unknown: adjustBalance then asks for 0.
    const isUnknown = turn.fault === "unsaid";
    ofCurrency.push({
      name: requestId,
      before,
      after,
      moved: isUnknown ? movedUnsaid(own) : moved,
      from: Math.min(times.occurredAt, times.receivedAt),
      to: Math.max(times.occurredAt, times.receivedAt),
    });
    requests.set(turn.currency, ofCurrency);
    if (turn.repeat === "none" || isUnknown) return;
    clock += turn.gap;
    const current = wallet.get(turn.currency) ?? 0;
    const answers = {
      first: [before, after],
      old: [left, left],
      older: [had, had],
      current: [current, current],
    };
    const [b = null, a = null] = turn.repeat === "null" ? [] : answers[turn.repeat];
    for (const item of own.keys())
      write(item, {
        ...timesOf(turn),
        requestId: turn.isOtherRequest ? `again${number}` : requestId,
        moved: amount("0"),
        balanceBefore: cents(b),
        balanceAfter: cents(a),
      });
  };
  const plain = {
    gap: 0,
    sent: 0,
    received: 0,
    nulls: "none",
    items: 1,
    fault: "none",
    repeat: "none",
  } as const;
  const playPlain = (number: number) => {
    clock += 60_000;
    for (const [index, currency] of (["THB", "USD"] as const).entries())
      play(
        { ...plain, action: 0, product: "P1", currency, cents: 10, isOtherRequest: false },
        number + index,
      );
    clock += 60_000;
  };
  if (begins) playPlain(800);
  for (const [number, turn] of all.entries()) play(turn, number);
  // Long after everything, each currency has a request with all balances, so what differs is seen by then.
  playPlain(900);
  return { entries, requests };
}

/** The fold decides what an item without any amount asks for: it has a model of its own. */
function movedUnsaid(own: readonly CallbackEntry[]): number | null {
  const asked = askedByEntry(own, { singleState: false });
  const known = own.map(({ entryId }) => asked.get(entryId));
  if (known.some((one) => one === undefined)) return null;
  return known.reduce((sum, one) => sum + Number(one?.toFixed()) * 100, 0);
}

function brokenIn(entries: readonly CallbackEntry[]): string[] {
  const asked = new Map(
    [...Map.groupBy(entries, ({ productId }) => productId).values()].flatMap((own) => [
      ...askedByEntry(own, { singleState: false }),
    ]),
  );
  const cut = { before: false, after: false };
  return findBrokenLinks(entries, { asked, tolerance: new Map(), cut }).broken.map(
    (one) => one.entries[0]?.requestId ?? "",
  );
}

const modelled = ({ requests }: History) => [...requests.values()].flatMap((own) => modelChain(own));
const NULLS = ["none", "none", "none", "before", "after", "both", "moved", "all"] as const;

test("a true history has no broken link, whatever is null, repeated, refused or at the same time", () => {
  fc.assert(
    fc.property(turns(["none", "none", "none", "refused"], NULLS, 30), fc.boolean(), (all, isWhole) => {
      expect(brokenIn(playTurns(all, isWhole).entries)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

const FAULTS = ["none", "none", "none", "none", "lost", "stale", "wrongBefore", "wrongAfter"] as const;

test("what differs is exactly what the model names, if no two requests overlap", () => {
  const apart = (all: readonly Turn[]) => all.map((one) => ({ ...one, gap: 5_000, sent: 0, received: 300 }));
  fc.assert(
    fc.property(turns([...FAULTS, "unsaid"], NULLS, 8), (all) => {
      const history = playTurns(apart(all), false);
      expect(brokenIn(history.entries).sort()).toEqual(modelled(history).sort());
    }),
    { numRuns: 1_000 },
  );
});

test("something differs exactly if it does in the model, no matter what overlaps", () => {
  fc.assert(
    fc.property(turns(FAULTS, NULLS, 6), fc.boolean(), fc.boolean(), (all, isWhole, begins) => {
      // With three or more of them in one moment, or two beside two that contradict themselves, not every order is tried.
      const hidden = all.filter(({ nulls }) => nulls === "both" || nulls === "all");
      const contrary = all.filter(({ fault }) => fault === "wrongBefore" || fault === "wrongAfter");
      fc.pre(hidden.length < 2 || (hidden.length === 2 && contrary.length < 2));
      const history = playTurns(all, isWhole, begins);
      expect(brokenIn(history.entries).length > 0).toBe(modelled(history).length > 0);
    }),
    { numRuns: 1_000 },
  );
});

test("a movement that is not in the ledger is one difference, if all balances are known", () => {
  fc.assert(
    fc.property(turns(["none"], ["none", "moved"], 12), fc.nat(11), fc.boolean(), (all, at, isWhole) => {
      const lost = all.map((turn, index) => (index === at ? { ...turn, fault: "lost" as const } : turn));
      const one = all[at];
      const isMoney = one !== undefined && (ACTIONS[one.action]?.[1] ?? 0) !== 0;
      expect(brokenIn(playTurns(lost, isWhole, true).entries)).toHaveLength(isMoney ? 1 : 0);
    }),
    { numRuns: 1_000 },
  );
});
