/** The built-in wallet, and the callbacks that moved its money. */

import { sql } from "drizzle-orm";
import { boolean, index, integer, numeric, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/** The balances of the built-in wallet, by player and currency. */
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

/** Money that operators gave to a player, or took back, by hand. */
export const walletCredits = pgTable("wallet_credits", {
  /** the operator's own reference; a reference cannot count twice */
  ref: text("ref").primaryKey(),
  username: text("username").notNull(),
  currency: text("currency").notNull(),
  /** signed: positive was given to the player */
  amount: numeric("amount").notNull(),
  at: instant("at").notNull(),
});

/** The state of each bet in the built-in wallet. It decides about the next callback. */
export const walletBets = pgTable(
  "wallet_bets",
  {
    /** in the order of the bets' beginnings */
    id: identity(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    txnId: text("txn_id").notNull(),
    currency: text("currency").notNull(),
    /** null: its callbacks named no real round */
    roundId: text("round_id"),
    /** open, settled, void */
    status: text("status").notNull(),
    stake: numeric("stake").notNull(),
    /** the part of the stake that was debited and not given back */
    debited: numeric("debited").notNull(),
    /** a callback asked for a part of the stake and did not skip the balance */
    wasDebited: boolean("was_debited").notNull(),
    settlement: numeric("settlement").notNull(),
    reward: numeric("reward").notNull(),
    placed: boolean("placed").notNull(),
    waiting: boolean("waiting").notNull(),
    tip: boolean("tip").notNull(),
    rewardOnly: boolean("reward_only").notNull(),
    /** the last settle said that no further settle follows */
    endRound: boolean("end_round").notNull(),
    /** the bet was settled when it became void, so its payout was debited again */
    payoutReturned: boolean("payout_returned").notNull(),
    /** the settles and rewards of the present generation, to recognise repeats */
    said: text("said").array().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.productId, t.username, t.txnId] }),
    index("wallet_bets_round").on(t.productId, t.username, t.roundId).where(sql`round_id is not null`),
  ],
);

/** Bets and rounds that were cancelled before they arrived. The wallet refuses them when they arrive. */
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

/** Callback requests that were answered with success. A replay gets the first answer again (decision 28). */
export const callbackRequests = pgTable(
  "callback_requests",
  {
    productId: text("product_id").notNull(),
    callback: text("callback").notNull(),
    requestId: text("request_id").notNull(),
    /** the hash of player, currency and items */
    digest: text("digest").notNull(),
    balanceBefore: numeric("balance_before").notNull(),
    balanceAfter: numeric("balance_after").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.callback, t.requestId] })],
);

/**
 * The callback for which each signature was used, kept while the signature is valid. A signature does not cover the address, so the same body
 * could be sent to another callback (decision 128).
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

/**
 * The body of every callback as it was received, without session tokens, with the statusCode of its response. Old rows are deleted.
 */
export const callbackBodies = pgTable(
  "callback_bodies",
  {
    /** in the order of a player's answers; a part of each entry's entry_id */
    id: identity().primaryKey(),
    callback: text("callback").notNull(),
    /** null: the field could not be read */
    productId: text("product_id"),
    requestId: text("request_id"),
    statusCode: integer("status_code").notNull(),
    body: text("body").notNull(),
    receivedAt: instant("received_at").notNull(),
  },
  (t) => [index("callback_bodies_received").on(t.receivedAt)],
);
