/** The requests of the callbacks' figure: a placement and a settlement for each bet, with players in turn. */

export interface LoadPlan {
  readonly clients: number;
  readonly players: number;
  readonly seconds: number;
  /** the number of the first bet; no two runs share a number */
  readonly firstBet: number;
}

export interface LoadResult {
  /** requests */
  readonly perSecond: number;
  /** how long it lasted */
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const STAKE = 10;
export const PAYOUT = 9.5;
/** The bets of a client in one run are fewer. */
export const BETS_OF_CLIENT = 1_000_000;

/**
 * The players of a client are its own and take turns, because a provider sends the requests of one player one after the
 * other.
 */
export function playersOfClient({ clients, players }: Pick<LoadPlan, "clients" | "players">): number {
  return Math.floor(players / clients);
}

/** @param bet the number of the bet among those of its client */
function playerOf(plan: LoadPlan, client: number, bet: number): string {
  return `player-${client + plan.clients * (bet % playersOfClient(plan))}`;
}

/** The body of a callback, in the fields of the interface (§2.1, §2.3). */
export function callbackBody(
  callback: "placeBets" | "settleBets",
  bet: number | string,
  username: string,
): string {
  const game = { roundId: `round-${bet}`, gameCode: "slot-17", playInfo: "The seventeenth slot" };
  const item =
    callback === "placeBets"
      ? { id: `bet-${bet}`, status: "OPEN", ...game, betAmount: STAKE }
      : { id: `bet-${bet}`, status: "SETTLED", ...game, payoutAmount: PAYOUT, betAmount: STAKE };
  return JSON.stringify({
    id: `${callback}-${bet}`,
    timestampMillis: 1_750_000_000_000,
    productId: "P1",
    currency: "THB",
    username,
    txns: [item],
  });
}

/**
 * A complete HTTP request for an open connection.
 * @param sent the requests that the client has sent before
 */
export function requestText(plan: LoadPlan, client: number, sent: number): string {
  const callback = sent % 2 === 0 ? "placeBets" : "settleBets";
  const bet = Math.floor(sent / 2);
  const player = playerOf(plan, client, bet);
  const body = callbackBody(callback, plan.firstBet + client * BETS_OF_CLIENT + bet, player);
  return `POST /${callback} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** The end of the first HTTP answer in a text; null: its head is not complete yet. */
export function answerEnd(text: string): number | null {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  if (length === undefined) throw new Error(`an answer without a length: ${text.slice(0, head)}`);
  return head + 4 + Number(length);
}
