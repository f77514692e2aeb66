/**
 * The answers that the wallet must give: a second implementation of the interface's rules, with maps and integers. The tests
 * compare the real wallet with this model.
 */

/** Amounts are counted in steps of 10 to the power of -40. */
const DECIMALS = 40;

/** @param text a decimal, with or without an exponent */
export function toSteps(text: string): bigint {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const zeros = DECIMALS + Number(exponent) - fraction.length;
  if (zeros < 0) throw new Error(`${text} has too many decimals for the model`);
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(zeros);
}

/** An item of any callback, with amounts as text. */
export interface ModelItem {
  readonly id: string;
  readonly status: string;
  readonly roundId: string;
  readonly betAmount: string | null;
  readonly payoutAmount: string | null;
  readonly byRound: boolean;
  readonly skip: boolean;
  readonly isEndRound: boolean;
  /** the txnId of a settle, beside the id of its bet; null: it names none */
  readonly settlementId: string | null;
  /** null: the item has no flag */
  readonly isSingleState: boolean | null;
  /** the transactionType of an item that is not BY_ROUND: every other value means the one transaction */
  readonly ownType: string | null | undefined;
}

export interface ModelRequest {
  readonly callback: string;
  readonly requestId: string;
  readonly productId: string;
  readonly singleState: boolean;
  readonly username: string;
  readonly currency: string;
  readonly items: readonly ModelItem[];
}

export type ModelAnswer =
  | { readonly statusCode: 0; readonly before: bigint; readonly after: bigint }
  | { readonly statusCode: number };

export interface ModelBet {
  readonly currency: string;
  round: string | null;
  status: "open" | "settled" | "void";
  stake: bigint;
  /** the part of the stake that the operator has taken */
  debited: bigint;
  wasDebited: boolean;
  settlement: bigint;
  reward: bigint;
  placed: boolean;
  waiting: boolean;
  tip: boolean;
  rewardOnly: boolean;
  mayBeSettledAgain: boolean;
  payoutReturned: boolean;
  /** the settles of the current generation */
  said: string[];
  /** what single-state settles of the round paid to this bet, by the ids that they named */
  carried: Record<string, string[]>;
}

/** The state of a wallet as plain data, to copy and compare. */
export interface ModelState {
  /** by player and currency */
  balances: Record<string, bigint>;
  /** by product, player and txn id, in the order in which they began */
  bets: Record<string, ModelBet>;
  /** bets and rounds that were cancelled before they arrived */
  tombstones: Record<string, true>;
  usedRefs: Record<string, true>;
  /** successes by product, callback and request id */
  answered: Record<string, { content: string; before: bigint; after: bigint }>;
}

export function emptyModel(): ModelState {
  return { balances: {}, bets: {}, tombstones: {}, usedRefs: {}, answered: {} };
}

export const balanceKey = (username: string, currency: string) => `${username} ${currency}`;
const betKey = (productId: string, username: string, id: string) => `${productId} ${username} ${id}`;

class Refused extends Error {
  readonly statusCode: number;
  constructor(statusCode: number) {
    super(String(statusCode));
    this.statusCode = statusCode;
  }
}

/** The answer to the request, and the state of the wallet afterwards. Leaves the given state unchanged. */
export function answerInModel(
  state: ModelState,
  request: ModelRequest,
): { readonly answer: ModelAnswer; readonly next: ModelState } {
  const { username, currency, productId, callback, requestId } = request;
  const key = balanceKey(username, currency);
  const before = state.balances[key];
  if (before === undefined) return { answer: { statusCode: 10001 }, next: state };
  const earlier = state.answered[`${productId} ${callback} ${requestId}`];
  const content = contentOf(request);
  if (earlier !== undefined) {
    const isReplay = callback !== "adjustBalance" && earlier.content === content;
    const replayed = { statusCode: 0, before: earlier.before, after: earlier.after } as const;
    return { answer: isReplay ? replayed : { statusCode: 20002 }, next: state };
  }
  const next = structuredClone(state);
  try {
    const seen = new Set<string>();
    for (const item of request.items) {
      if (seen.has(item.id)) throw new Refused(20002);
      seen.add(item.id);
      new ModelJudgement(next, request, item).apply();
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { statusCode } = error;
    return {
      answer: { statusCode },
      next: callback === "cancelBets" ? withTombstones(state, request) : state,
    };
  }
  const after = next.balances[key] ?? 0n;
  next.answered[`${productId} ${callback} ${requestId}`] = { content, before, after };
  return { answer: { statusCode: 0, before, after }, next };
}

function contentOf({ username, currency, items }: ModelRequest): string {
  const steps = (text: string | null) => (text === null ? null : toSteps(text).toString());
  const counted = items.map((one) => ({
    ...one,
    betAmount: steps(one.betAmount),
    payoutAmount: steps(one.payoutAmount),
  }));
  return JSON.stringify([username, currency, counted]);
}

function withTombstones(state: ModelState, { productId, username, items }: ModelRequest): ModelState {
  const next = structuredClone(state);
  for (const { id, roundId, byRound } of items) {
    const round = byRound ? realRound(roundId) : null;
    const knows = (key: string, bet: ModelBet) =>
      key === betKey(productId, username, id) ||
      (round !== null && key.startsWith(`${productId} ${username} `) && bet.round === round);
    if (Object.entries(state.bets).some(([key, bet]) => knows(key, bet))) continue;
    next.tombstones[`${productId} ${username} bet ${id}`] = true;
    if (round !== null) next.tombstones[`${productId} ${username} round ${round}`] = true;
  }
  return next;
}

function realRound(roundId: string): string | null {
  return roundId === "" || roundId === "UNKNOWN" ? null : roundId;
}

/** Judges one item, and changes the state. */
class ModelJudgement {
  readonly #state: ModelState;
  readonly #request: ModelRequest;
  readonly #item: ModelItem;
  readonly #stake: bigint;
  readonly #payout: bigint;
  readonly #round: string | null;
  readonly #isSingleState: boolean;

  constructor(state: ModelState, request: ModelRequest, item: ModelItem) {
    this.#state = state;
    this.#request = request;
    this.#item = item;
    this.#stake = toSteps(item.betAmount ?? "0");
    this.#payout = toSteps(item.payoutAmount ?? "0");
    this.#round = realRound(item.roundId);
    this.#isSingleState = item.isSingleState ?? request.singleState;
  }

  apply(): void {
    const { callback, currency } = this.#request;
    const own = callback === "adjustBalance" ? undefined : this.#own;
    if (own !== undefined && own.currency !== currency) {
      throw new Refused(callback === "placeBets" || callback === "placeTips" ? 20002 : 20001);
    }
    const byRound = this.#item.byRound && this.#round !== null;
    const does = byRound ? this.#ofRound[callback] : undefined;
    if (own !== undefined) own.round ??= this.#round;
    (does ?? this.#ofBet[callback])?.(own);
  }

  get #ofRound(): Record<string, (own: ModelBet | undefined) => void> {
    return {
      settleBets: (own) => this.#settleRound(own),
      cancelBets: () => this.#cancelRound(),
      voidSettled: () => this.#voidRound(),
      rollback: () => this.#rollBackRound(),
    };
  }

  get #ofBet(): Record<string, (own: ModelBet | undefined) => void> {
    const known = (act: (own: ModelBet) => void) => (own: ModelBet | undefined) => {
      if (own === undefined) throw new Refused(20001);
      act(own);
    };
    return {
      placeBets: (own) => this.#place(own),
      adjustBets: known((own) => this.#adjust(own)),
      settleBets: (own) => this.#settle(own),
      cancelBets: known((own) => this.#cancel(own)),
      voidSettled: known((own) => this.#void(own)),
      winRewards: (own) => this.#reward(own),
      rollback: known((own) => this.#rollBack(own)),
      placeTips: (own) => this.#tip(own),
      cancelTips: known((own) => this.#cancelTip(own)),
      adjustBalance: () => this.#adjustBalance(),
    };
  }

  get #own(): ModelBet | undefined {
    const { productId, username } = this.#request;
    return this.#state.bets[betKey(productId, username, this.#item.id)];
  }

  #begin(known: Partial<ModelBet>): ModelBet {
    const { productId, username, currency } = this.#request;
    const bet: ModelBet = {
      currency,
      round: this.#round,
      status: "open",
      stake: 0n,
      debited: 0n,
      wasDebited: false,
      settlement: 0n,
      reward: 0n,
      placed: false,
      waiting: false,
      tip: false,
      rewardOnly: false,
      mayBeSettledAgain: false,
      payoutReturned: false,
      said: [],
      carried: {},
      ...known,
    };
    this.#state.bets[betKey(productId, username, this.#item.id)] = bet;
    return bet;
  }

  /** Changes the balance. A stake must be covered by the balance. */
  #move(amount: bigint, mustBeThere: boolean): void {
    if (this.#item.skip) return;
    const key = balanceKey(this.#request.username, this.#request.currency);
    const balance = this.#state.balances[key] ?? 0n;
    if (mustBeThere && amount < 0n && balance + amount < 0n) throw new Refused(10002);
    this.#state.balances[key] = balance + amount;
  }

  #debit(bet: ModelBet, amount: bigint): void {
    this.#move(-amount, true);
    if (this.#item.skip) return;
    bet.debited += amount;
    bet.wasDebited = true;
  }

  #refuseBuried(): void {
    const { productId, username } = this.#request;
    const buried = (kind: string, ref: string) =>
      this.#state.tombstones[`${productId} ${username} ${kind} ${ref}`];
    if (buried("bet", this.#item.id) || (this.#round !== null && buried("round", this.#round))) {
      throw new Refused(20003);
    }
  }

  #place(own: ModelBet | undefined): void {
    const waiting = this.#item.status === "WAITING";
    if (own === undefined) {
      this.#refuseBuried();
      this.#debit(this.#begin({ stake: this.#stake, placed: true, waiting }), this.#stake);
      return;
    }
    if (!own.waiting || own.status !== "open" || waiting) throw new Refused(20002);
    own.waiting = false;
    own.stake = this.#stake;
    this.#debit(own, this.#stake - own.debited);
  }

  #adjust(own: ModelBet): void {
    if (own.status === "settled") throw new Refused(20004);
    if (own.status === "void") throw new Refused(20003);
    if (own.stake === this.#stake) throw new Refused(20002);
    const more = this.#stake - own.stake;
    own.stake = this.#stake;
    this.#debit(own, more);
  }

  get #saidBySettle(): string {
    const { status, betAmount, isEndRound, id, settlementId } = this.#item;
    const part = isEndRound ? "" : ` part ${id} ${settlementId}`;
    return `settle ${status} ${this.#payout} ${betAmount === null ? "" : this.#stake}${part}`;
  }

  #settle(own: ModelBet | undefined): void {
    if (own === undefined || own.rewardOnly) {
      if (!this.#isSingleState) throw new Refused(20001);
      this.#refuseBuried();
    } else if (own.status === "void") {
      throw new Refused(20003);
    } else if (own.said.includes(this.#saidBySettle)) {
      throw new Refused(20002);
    } else if (own.status === "settled" && !own.mayBeSettledAgain) {
      throw new Refused(20004);
    }
    this.#pay(own ?? this.#begin({}), this.#payout);
  }

  #pay(bet: ModelBet, payout: bigint): void {
    const runs = bet.status === "open" || bet.rewardOnly;
    const isFirstPart = runs && !bet.mayBeSettledAgain;
    const namesStake = !bet.placed && this.#item.betAmount !== null && (isFirstPart || bet.stake === 0n);
    if (namesStake) bet.stake = this.#stake;
    const debits = this.#isSingleState && !bet.placed && !bet.wasDebited;
    const movesNothing = this.#item.skip || payout === (debits ? this.#stake : 0n);
    const isRepeat = movesNothing && bet.said.includes(this.#saidBySettle);
    if (!isRepeat) {
      if (debits) this.#debit(bet, this.#stake);
      this.#move(payout, false);
      bet.settlement += payout;
    }
    // After a partial settle the bet stays open.
    bet.status = runs && !this.#item.isEndRound ? "open" : "settled";
    bet.rewardOnly = false;
    bet.waiting = false;
    bet.mayBeSettledAgain = !this.#item.isEndRound;
    bet.said.push(this.#saidBySettle);
  }

  get #betsOfRound(): ModelBet[] {
    const { productId, username, currency } = this.#request;
    return Object.entries(this.#state.bets)
      .filter(([key]) => key.startsWith(`${productId} ${username} `))
      .map(([, bet]) => bet)
      .filter((bet) => bet.round === this.#round && bet.currency === currency && !bet.tip);
  }

  #settleRound(own: ModelBet | undefined): void {
    const bets = this.#betsOfRound;
    const open = bets.filter(({ status }) => status === "open");
    if (open.length === 0) {
      const ended = bets.filter(({ rewardOnly }) => !rewardOnly);
      if (own === undefined && !this.#isSingleState && ended.length > 0) {
        if (ended.every(({ status }) => status === "void")) throw new Refused(20003);
        throw new Refused(ended.some(({ said }) => said.includes(this.#saidBySettle)) ? 20002 : 20004);
      }
      // Another bet of the round already got this payout: the settle must not begin a bet of its own.
      const before = bets.map(({ carried }) => carried[this.#item.id]).filter((said) => said !== undefined);
      if (own === undefined && before.length > 0) {
        throw new Refused(before.flat().includes(this.#saidBySettle) ? 20002 : 20004);
      }
      if (own !== undefined) own.round ??= this.#round;
      this.#settle(own);
      return;
    }
    const named = bets.find((bet) => bet === own && bet.status !== "void");
    const payee = named ?? open[0];
    if (payee !== undefined) {
      if (!this.#item.isEndRound && payee.said.includes(this.#saidBySettle)) throw new Refused(20002);
      this.#pay(payee, this.#payout);
      if (own === undefined && this.#isSingleState) {
        payee.carried[this.#item.id] = [...(payee.carried[this.#item.id] ?? []), this.#saidBySettle];
      }
    }
    for (const bet of open.filter((one) => one !== payee)) this.#pay(bet, 0n);
  }

  #cancel(own: ModelBet): void {
    if (own.status !== "open") throw new Refused(own.status === "void" ? 20003 : 20004);
    this.#endVoid(own, own.debited);
  }

  #cancelRound(): void {
    const bets = this.#betsOfRound;
    if (bets.length === 0) throw new Refused(20001);
    const open = bets.filter(({ status }) => status === "open");
    if (open.length === 0) throw new Refused(bets.some(({ status }) => status === "settled") ? 20004 : 20003);
    for (const bet of open) this.#endVoid(bet, bet.debited);
  }

  #void(own: ModelBet): void {
    if (own.tip || own.status === "open") throw new Refused(20001);
    if (own.status === "void") throw new Refused(20003);
    own.payoutReturned = true;
    this.#endVoid(own, own.stake - own.settlement - own.reward);
  }

  /** Without a settled bet: 20001 if one is open, else 20003. */
  #voidRound(): void {
    const bets = this.#betsOfRound;
    const settled = bets.filter(({ status }) => status === "settled");
    if (settled.length === 0) {
      const mayStillBeSettled = bets.length === 0 || bets.some(({ status }) => status === "open");
      throw new Refused(mayStillBeSettled ? 20001 : 20003);
    }
    for (const bet of settled) this.#void(bet);
  }

  #endVoid(bet: ModelBet, returned: bigint): void {
    this.#move(returned, false);
    bet.status = "void";
    if (!this.#item.skip) bet.debited = 0n;
  }

  #reward(own: ModelBet | undefined): void {
    const said = `reward ${this.#payout}`;
    if (own?.said.includes(said)) throw new Refused(20002);
    const bet = own ?? this.#begin({ rewardOnly: true });
    if (bet.rewardOnly && bet.status === "open") bet.status = "settled";
    this.#move(this.#payout, false);
    bet.reward += this.#payout;
    bet.said.push(said);
  }

  #rollBack(own: ModelBet): void {
    if (own.tip) throw new Refused(20001);
    if (own.status === "open") throw new Refused(20002);
    const amount = own.status === "void" ? this.#stake : this.#payout;
    this.#move(-amount, false);
    this.#runAgain(own, amount, this.#payout === own.settlement + own.reward);
  }

  #rollBackRound(): void {
    const bets = this.#betsOfRound.filter(({ rewardOnly }) => !rewardOnly);
    if (bets.length === 0) throw new Refused(20001);
    const ended = bets.filter(({ status }) => status !== "open");
    if (ended.length === 0) throw new Refused(20002);
    const settled = ended.filter(({ status }) => status === "settled");
    const paid = settled.reduce((sum, bet) => sum + bet.settlement + bet.reward, 0n);
    const refund = ended.length > settled.length ? this.#stake : 0n;
    this.#move(-((settled.length > 0 ? this.#payout : 0n) + refund), false);
    for (const bet of ended) {
      this.#runAgain(bet, ended.length === 1 ? refund : bet.stake, this.#payout === paid);
    }
  }

  /** @param taken the refund of a void bet that is taken again */
  #runAgain(bet: ModelBet, taken: bigint, takesReward: boolean): void {
    const wasVoid = bet.status === "void";
    if (wasVoid && !this.#item.skip) {
      bet.debited += taken;
      bet.wasDebited = true;
    }
    if (wasVoid ? bet.payoutReturned : takesReward) bet.reward = 0n;
    Object.assign(bet, {
      status: "open",
      settlement: 0n,
      waiting: false,
      payoutReturned: false,
      said: [],
      carried: {},
    });
    bet.mayBeSettledAgain = false;
  }

  #tip(own: ModelBet | undefined): void {
    if (own !== undefined) throw new Refused(20002);
    this.#debit(this.#begin({ stake: this.#stake, tip: true, status: "settled" }), this.#stake);
  }

  #cancelTip(own: ModelBet): void {
    if (!own.tip) throw new Refused(20001);
    if (own.status === "void") throw new Refused(20003);
    this.#endVoid(own, this.#stake);
  }

  #adjustBalance(): void {
    const { productId, username } = this.#request;
    const ref = `${productId} ${username} ${this.#item.id}`;
    if (this.#state.usedRefs[ref]) throw new Refused(20002);
    this.#state.usedRefs[ref] = true;
    this.#move(this.#payout - this.#stake, true);
  }
}
