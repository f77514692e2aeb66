/** A seeded world that is played in real time. All events are written when play begins. */

import type { BetRecord } from "../../../src/bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import type { SandboxPlayer } from "../../../src/sandbox/world/played-round.ts";
import { createRandom, hashText, type Random } from "../../../src/sandbox/world/random.ts";
import type { SandboxGame } from "../../../src/sandbox/world/styles.ts";
import type { PlantedFault, World } from "../../../src/sandbox/world/world.ts";
import type { Script, ShownVersion } from "../../../src/sandbox/world/world-plan.ts";
import { BET_FAULTS, changeUnheard } from "../oddities/bet-faults.ts";
import { ODD_LISTINGS } from "../oddities/odd-listings.ts";
import type { OddWorldPlan } from "../oddities/odd-plan.ts";
import { seatOddPlayers } from "../oddities/odd-players.ts";
import { ODD_RESULTS, type Oddity } from "../oddities/odd-results.ts";
import { HAPPENINGS, type Happenings } from "../oddities/odd-styles.ts";
import { RoundScript } from "../oddities/round-script.ts";
import { LIVE_FAULTS, LIVE_ODDITIES, type PlayRound, playLiveSession } from "./live-oddities.ts";
import { type LiveProduct, type LiveRunPlan, worldPlanOf } from "./live-plan.ts";

/** A round of one player as it is played, for the auditor. */
export interface LiveRound extends Script {
  readonly productId: string;
  readonly roundId: string;
  readonly username: string;
}

export interface LiveWorld extends World {
  readonly players: readonly SandboxPlayer[];
  /** Writes all events from this moment on; before that nothing is shown. */
  begin(startsAt: Instant): void;
  rounds(): readonly LiveRound[];
  /** A record that will vanish is listed until the worker has stored it. @param fault a planted one */
  keep(fault: PlantedFault, at: Instant): void;
  /** when its record vanished; null: the fault is of another kind, or its record is still listed */
  vanishedAt(fault: PlantedFault): Instant | null;
}

const GAMES: readonly [SandboxGame, ...SandboxGame[]] = [
  { code: "live-1", name: "Live & Direct" },
  { code: "UNKNOWN", name: "UNKNOWN" },
];

/** All parts of such a round take their share of the round's time. */
const SHORT_ROUNDS: Happenings = {
  oddities: Object.values(ODD_RESULTS) as [Oddity, ...Oddity[]],
  faults: Object.values(BET_FAULTS),
};

/** A record that is not listed for minutes is missed by two fetches with these short graces: it counts as vanished. */
const LASTS_MINUTES: Oddity = ODD_LISTINGS.comeBack;

/** Of the odd product's rounds, one in this many is of a kind that only a run in real time plays. */
const ONE_IN_LIVE = 2;

export function createLiveWorld(plan: LiveRunPlan): LiveWorld {
  const template = worldPlanOf(plan, 0);
  const players = seatOddPlayers(plan.seed, template.players);
  let rounds: readonly LiveRound[] = [];
  let listed: Listed = new Map();
  let entries: readonly CallbackEntry[] = [];
  let quietAt = 0;
  const keptAt = new Map<PlantedFault, Instant>();
  return {
    seed: plan.seed,
    products: template.products,
    players,
    begin(startsAt) {
      rounds = plan.products.flatMap((product) => playProduct(plan, product, players, startsAt));
      listed = listRecords(rounds);
      entries = rounds.flatMap((round) => round.entries).sort(inLedgerOrder);
      const heard = entries.map(({ receivedAt }) => receivedAt);
      const listedAt = rounds.flatMap(({ records }) => records.flat().map(({ at }) => at));
      quietAt = [...heard, ...listedAt].reduce((last, at) => Math.max(last, at), startsAt);
    },
    rounds: () => rounds,
    keep: (fault, at) => keptAt.set(fault, at),
    vanishedAt(fault) {
      const hidden = rounds.find((round) => round.fault === fault)?.records[0]?.at(-1);
      const kept = keptAt.get(fault);
      return hidden?.record !== null || kept === undefined ? null : Math.max(hidden.at, kept);
    },
    recordsIn(productId, range, now) {
      const found: { at: Instant; record: BetRecord }[] = [];
      for (const { versions, fault } of listed.get(productId) ?? []) {
        if ((versions[0]?.accountedAt ?? 0) >= range.to) break;
        const isHeld = fault?.kind === "vanished-at-provider" && !((keptAt.get(fault) ?? Infinity) <= now);
        const shown = versions.findLast(({ at, record }) => at <= now && !(isHeld && record === null));
        if (shown === undefined || shown.record === null) continue;
        if (range.from <= shown.accountedAt && shown.accountedAt < range.to) {
          found.push({ at: shown.accountedAt, record: shown.record });
        }
      }
      return found
        .sort((a, b) => a.at - b.at || (a.record.id < b.record.id ? -1 : 1))
        .map(({ record }) => record);
    },
    entriesReceived: ({ from, to }) =>
      entries.filter(({ receivedAt }) => from <= receivedAt && receivedAt < to),
    plantedBy: (now) =>
      rounds.flatMap(({ fault }) => (fault !== null && fault.completeAt <= now ? [fault] : [])),
    quietAt: () => quietAt,
  };
}

/** By product, in the order of their first accountingDate; no later version has an earlier date. */
type Listed = ReadonlyMap<
  string,
  readonly { readonly versions: readonly ShownVersion[]; readonly fault: PlantedFault | null }[]
>;

function listRecords(rounds: readonly LiveRound[]): Listed {
  const records = rounds.flatMap(({ productId, records, fault }) =>
    records.map((versions) => ({ productId, versions, fault })),
  );
  const firstDate = ({ versions }: (typeof records)[number]) => versions[0]?.accountedAt ?? 0;
  return Map.groupBy(
    records.sort((a, b) => firstDate(a) - firstDate(b)),
    ({ productId }) => productId,
  );
}

function playProduct(
  plan: LiveRunPlan,
  product: LiveProduct,
  players: readonly SandboxPlayer[],
  startsAt: Instant,
): LiveRound[] {
  const world = worldPlanOf(plan, startsAt);
  const random = createRandom(hashText(`${plan.seed}|${product.productId}|live`));
  const open = (number: number, startedAt: Instant, player: number) =>
    openRound(world, product, players, { number, startedAt, player });
  if (product.style === "session") {
    const sessions = Math.ceil(plan.playedMs / plan.times.sessionEvery);
    return players.flatMap((_, player) => {
      const offset = Math.floor((player * plan.times.sessionEvery) / players.length);
      return Array.from({ length: sessions }, (_, index) => {
        const startedAt = startsAt + offset + index * plan.times.sessionEvery;
        const spoil = random.oneIn(8) ? random.pick(["debit", "shot"] as const) : "nothing";
        return named(open(player * sessions + index, startedAt, player), (round) =>
          playLiveSession(round, spoil),
        );
      });
    });
  }
  const shares = plan.products.reduce((sum, { share }) => sum + share, 0);
  const count = Math.round((plan.roundsPerSecond * plan.playedMs * product.share) / shares / 1000);
  const offset = random.below(plan.faultEvery);
  return Array.from({ length: count }, (_, number) => {
    const startedAt = startsAt + Math.floor((number * plan.playedMs) / count) + random.below(200);
    const round = open(number, startedAt, random.below(players.length));
    return named(round, choose(plan, product, random, number + offset));
  });
}

/** Chooses the kind of a round: each planted kind in turn, the others at random. */
function choose(plan: LiveRunPlan, product: LiveProduct, random: Random, turn: number): PlayRound {
  const { style } = product;
  if (product.isQuiet) return turn % QUIET_FAULT_EVERY === 0 ? changeUnheard : playPlain;
  const { oddities, faults: usual } = plan.shortRoundsOnly
    ? SHORT_ROUNDS
    : HAPPENINGS[style as keyof typeof HAPPENINGS];
  const faults = style === "odd" ? [...LIVE_FAULTS, ...usual] : usual;
  const fault = faults[Math.floor(turn / plan.faultEvery) % faults.length];
  if (turn % plan.faultEvery === 0 && fault !== undefined) return fault;
  if (style === "odd" && random.oneIn(ONE_IN_LIVE)) return random.pick(LIVE_ODDITIES);
  const oddity = random.pick(oddities.filter((one) => one !== LASTS_MINUTES) as [Oddity, ...Oddity[]]);
  return (round) => {
    oddity(round);
    return round.right();
  };
}

/** Of a quiet product's rounds, one in this many changes unheard. */
const QUIET_FAULT_EVERY = 6;

function playPlain(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.promptly().place("a", round.at(0), stake).settle("a", round.at(0.1), payout);
  return round.show("a", round.at(0.1), { status: "SETTLED", stake, payout }).right();
}

function named(round: RoundScript, play: PlayRound): LiveRound {
  const { productId, roundId, player } = round.context;
  return { ...play(round), productId, roundId, username: player.username };
}

function openRound(
  plan: OddWorldPlan,
  { productId }: LiveProduct,
  players: readonly SandboxPlayer[],
  { number, startedAt, player }: { number: number; startedAt: Instant; player: number },
): RoundScript {
  const roundId = `${productId}-${plan.seed.toString(36)}-${number.toString(36)}`;
  const random = createRandom(hashText(`${plan.seed}|${roundId}`));
  const playerOf = (index: number) => players[index % players.length] as SandboxPlayer;
  return new RoundScript({
    plan,
    productId,
    roundId,
    startedAt,
    random,
    game: random.pick(GAMES),
    player: playerOf(player),
    stranger: playerOf(player + 1),
  });
}
