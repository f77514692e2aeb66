/** The built-in wallet, and the callbacks that moved its money. */

import { sql } from "drizzle-orm";
import { boolean, index, integer, numeric, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/** What each player has of each currency, where the built-in wallet keeps it. */
export const wallets = pgTable(
  "wallets",
  {
    username: text("username").notNull(),
    currency: text("currency").notNull(),
    balance: numeric("balance").notNull(),
    createdAt: instant("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.username, t.currency] })],
);

/** Money that people gave to a player, or took back, by hand. */
export const walletCredits = pgTable("wallet_credits", {
  /** the person's own reference: the same one cannot count twice */
  ref: text("ref").primaryKey(),
  username: text("username").notNull(),
  currency: text("currency").notNull(),
  /** signed: positive was given to the player */
  amount: numeric("amount").notNull(),
  at: instant("at").notNull(),
});

/** The state of each bet in the built-in wallet, by which the next callback is judged. */
export const walletBets = pgTable(
  "wallet_bets",
  {
    /** in the order in which bets began */
    id: identity(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    txnId: text("txn_id").notNull(),
    currency: text("currency").notNull(),
    /** null: its callbacks named no real one */
    roundId: text("round_id"),
    /** open, settled, void */
    status: text("status").notNull(),
    stake: numeric("stake").notNull(),
    /** of the stake, what was taken from the player and not given back */
    debited: numeric("debited").notNull(),
    /** some of the stake was once asked for, and not skipped */
    wasDebited: boolean("was_debited").notNull(),
    settlement: numeric("settlement").notNull(),
    reward: numeric("reward").notNull(),
    placed: boolean("placed").notNull(),
    waiting: boolean("waiting").notNull(),
    tip: boolean("tip").notNull(),
    rewardOnly: boolean("reward_only").notNull(),
    /** its last settle said that no other follows */
    endRound: boolean("end_round").notNull(),
    /** it was settled when it became void: its payout was taken back with that */
    payoutReturned: boolean("payout_returned").notNull(),
    /** the settles and rewards of the present generation, by which repeats are known */
    said: text("said").array().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.productId, t.username, t.txnId] }),
    index("wallet_bets_round").on(t.productId, t.username, t.roundId).where(sql`round_id is not null`),
  ],
);

/** Bets and rounds that were cancelled before they arrived: should they still arrive, they are refused. */
export const walletTombstones = pgTable(
  "wallet_tombstones",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    /** bet, round */
    kind: text("kind").notNull(),
    ref: text("ref").notNull(),
    at: instant("at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.kind, t.ref] })],
);

/** Callback requests that were answered with success, so that a replay is given the first answer again. */
export const callbackRequests = pgTable(
  "callback_requests",
  {
    productId: text("product_id").notNull(),
    callback: text("callback").notNull(),
    requestId: text("request_id").notNull(),
    /** of player, currency and items */
    digest: text("digest").notNull(),
    balanceBefore: numeric("balance_before").notNull(),
    balanceAfter: numeric("balance_after").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.callback, t.requestId] })],
);

/**
 * Signatures of callbacks that were answered, for as long as they are accepted: a signature does not cover the
 * address, so the same body must not be taken for another callback too.
 */
export const callbackSignatures = pgTable(
  "callback_signatures",
  {
    /** `sapi-timestamp` */
    signedAt: instant("signed_at").notNull(),
    signature: text("signature").notNull(),
    callback: text("callback").notNull(),
  },
  (t) => [primaryKey({ columns: [t.signedAt, t.signature] })],
);

/** The body of every callback as it came, without session tokens, and how it was answered; dropped when it is old. */
export const callbackBodies = pgTable(
  "callback_bodies",
  {
    /** in the order in which a player's requests were answered; the entry_id of an entry begins with it */
    id: identity().primaryKey(),
    callback: text("callback").notNull(),
    /** null: could not be read */
    productId: text("product_id"),
    requestId: text("request_id"),
    statusCode: integer("status_code").notNull(),
    body: text("body").notNull(),
    receivedAt: instant("received_at").notNull(),
  },
  (t) => [index("callback_bodies_received").on(t.receivedAt)],
);
