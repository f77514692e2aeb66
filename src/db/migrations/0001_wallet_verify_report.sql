CREATE TABLE "adjustments" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "adjustments_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"mismatch_id" bigint NOT NULL,
	"ref" text NOT NULL,
	"amount" numeric NOT NULL,
	"currency" text NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"by" text NOT NULL,
	"note" text NOT NULL,
	CONSTRAINT "adjustments_ref_unique" UNIQUE("ref")
);
--> statement-breakpoint
CREATE TABLE "alert_channels" (
	"channel" text PRIMARY KEY NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (6) with time zone,
	"failing_since" timestamp (6) with time zone,
	"last_error" text,
	"lease_token" uuid,
	"lease_until" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "alert_conditions" (
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"product_id" text,
	"since" timestamp (6) with time zone NOT NULL,
	"what_when_over" text NOT NULL,
	"heads" jsonb NOT NULL,
	CONSTRAINT "alert_conditions_kind_subject_pk" PRIMARY KEY("kind","subject")
);
--> statement-breakpoint
CREATE TABLE "alert_deliveries" (
	"alert_id" bigint NOT NULL,
	"channel" text NOT NULL,
	"attempts" integer NOT NULL,
	"delivered_at" timestamp (6) with time zone,
	"next_attempt_at" timestamp (6) with time zone,
	"last_error" text,
	CONSTRAINT "alert_deliveries_alert_id_channel_pk" PRIMARY KEY("alert_id","channel")
);
--> statement-breakpoint
CREATE TABLE "callback_bodies" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "callback_bodies_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"callback" text NOT NULL,
	"product_id" text,
	"request_id" text,
	"status_code" integer NOT NULL,
	"body" text NOT NULL,
	"received_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "callback_requests" (
	"product_id" text NOT NULL,
	"callback" text NOT NULL,
	"request_id" text NOT NULL,
	"digest" text NOT NULL,
	"balance_before" numeric NOT NULL,
	"balance_after" numeric NOT NULL,
	CONSTRAINT "callback_requests_product_id_callback_request_id_pk" PRIMARY KEY("product_id","callback","request_id")
);
--> statement-breakpoint
CREATE TABLE "incident_members" (
	"mismatch_id" bigint PRIMARY KEY NOT NULL,
	"incident_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "incidents" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "incidents_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"kind" text NOT NULL,
	"backfill_id" bigint NOT NULL,
	"number" integer NOT NULL,
	"began_at" timestamp (6) with time zone NOT NULL,
	"last_at" timestamp (6) with time zone NOT NULL,
	"total" integer NOT NULL,
	"open" integer NOT NULL,
	"alerted_total" integer NOT NULL,
	"ended_at" timestamp (6) with time zone,
	CONSTRAINT "incidents_once" UNIQUE("product_id","kind","backfill_id","number")
);
--> statement-breakpoint
CREATE TABLE "ledger_follows" (
	"relation" text PRIMARY KEY NOT NULL,
	"read_until" timestamp (6) with time zone,
	"read_at" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "ledger_rereads" (
	"day" timestamp (6) with time zone PRIMARY KEY NOT NULL,
	"asked_at" timestamp (6) with time zone NOT NULL,
	"begun_at" timestamp (6) with time zone,
	"read_at" timestamp (6) with time zone,
	"after_received_at" timestamp (6) with time zone,
	"after_entry_id" text
);
--> statement-breakpoint
CREATE TABLE "record_absences" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"bet_id" text NOT NULL,
	"id" text NOT NULL,
	"missed_since" timestamp (6) with time zone NOT NULL,
	"elsewhere" boolean DEFAULT false NOT NULL,
	CONSTRAINT "record_absences_product_id_username_bet_id_id_pk" PRIMARY KEY("product_id","username","bet_id","id")
);
--> statement-breakpoint
CREATE TABLE "rejected_entries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "rejected_entries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"entry_digest" text NOT NULL,
	"entry_id" text,
	"product_id" text,
	"username" text,
	"txn_id" text,
	"round_id" text,
	"raw" text NOT NULL,
	"reason" text NOT NULL,
	"first_seen_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "rejected_entries_entry_digest_unique" UNIQUE("entry_digest")
);
--> statement-breakpoint
CREATE TABLE "top_up_answers" (
	"of_id" bigint NOT NULL,
	"attempt" integer NOT NULL,
	"asked_at" timestamp (6) with time zone NOT NULL,
	"took_ms" integer NOT NULL,
	"says" text NOT NULL,
	"code" text,
	"message" text,
	"raw" text,
	"status" text NOT NULL,
	"is_decisive" boolean NOT NULL,
	"next_verify_at" timestamp (6) with time zone,
	CONSTRAINT "top_up_answers_of_id_attempt_pk" PRIMARY KEY("of_id","attempt")
);
--> statement-breakpoint
CREATE TABLE "top_up_states" (
	"product_id" text PRIMARY KEY NOT NULL,
	"picked_until" "xid8" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "top_ups" (
	"transaction_ref" text NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "top_ups_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"type" text NOT NULL,
	"amount" numeric NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"sent_at" timestamp (6) with time zone NOT NULL,
	"handed_at" timestamp (6) with time zone NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_verify_at" timestamp (6) with time zone,
	"decided_at" timestamp (6) with time zone,
	"failed_since" timestamp (6) with time zone,
	"rejected_at" timestamp (6) with time zone,
	"mismatch_kind" text,
	"closed_by" text,
	"note" text,
	"lease_token" uuid,
	"lease_until" timestamp (6) with time zone,
	CONSTRAINT "top_ups_transaction_ref_product_id_username_pk" PRIMARY KEY("transaction_ref","product_id","username")
);
--> statement-breakpoint
CREATE TABLE "transfer_answers" (
	"of_id" bigint NOT NULL,
	"attempt" integer NOT NULL,
	"asked_at" timestamp (6) with time zone NOT NULL,
	"took_ms" integer NOT NULL,
	"says" text NOT NULL,
	"code" text,
	"message" text,
	"raw" text,
	"status" text NOT NULL,
	"is_decisive" boolean NOT NULL,
	"next_verify_at" timestamp (6) with time zone,
	CONSTRAINT "transfer_answers_of_id_attempt_pk" PRIMARY KEY("of_id","attempt")
);
--> statement-breakpoint
CREATE TABLE "wallet_bets" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "wallet_bets_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"txn_id" text NOT NULL,
	"currency" text NOT NULL,
	"round_id" text,
	"status" text NOT NULL,
	"stake" numeric NOT NULL,
	"debited" numeric NOT NULL,
	"was_debited" boolean NOT NULL,
	"settlement" numeric NOT NULL,
	"reward" numeric NOT NULL,
	"placed" boolean NOT NULL,
	"waiting" boolean NOT NULL,
	"tip" boolean NOT NULL,
	"reward_only" boolean NOT NULL,
	"end_round" boolean NOT NULL,
	"payout_returned" boolean NOT NULL,
	"said" text[] NOT NULL,
	CONSTRAINT "wallet_bets_product_id_username_txn_id_pk" PRIMARY KEY("product_id","username","txn_id")
);
--> statement-breakpoint
CREATE TABLE "wallet_credits" (
	"ref" text PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"amount" numeric NOT NULL,
	"at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "wallet_tombstones" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"kind" text NOT NULL,
	"ref" text NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "wallet_tombstones_product_id_username_kind_ref_pk" PRIMARY KEY("product_id","username","kind","ref")
);
--> statement-breakpoint
CREATE TABLE "wallets" (
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"balance" numeric NOT NULL,
	"created_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "wallets_username_currency_pk" PRIMARY KEY("username","currency")
);
--> statement-breakpoint
DROP INDEX "callback_entries_txn";--> statement-breakpoint
DROP INDEX "transfers_status";--> statement-breakpoint
ALTER TABLE "transfers" ALTER COLUMN "status" SET DEFAULT 'pending';--> statement-breakpoint
ALTER TABLE "callback_entries" ADD COLUMN "appended_in" "xid8" DEFAULT pg_current_xact_id() NOT NULL;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "ceased_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (sequence name "transfers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "handed_at" timestamp (6) with time zone NOT NULL;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "attempts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "next_verify_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "decided_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "failed_since" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "rejected_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "mismatch_kind" text;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "closed_by" text;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "note" text;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "lease_token" uuid;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "lease_until" timestamp (6) with time zone;--> statement-breakpoint
CREATE INDEX "adjustments_of" ON "adjustments" USING btree ("mismatch_id");--> statement-breakpoint
CREATE INDEX "adjustments_at" ON "adjustments" USING btree ("at");--> statement-breakpoint
CREATE INDEX "callback_bodies_received" ON "callback_bodies" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "incident_members_of" ON "incident_members" USING btree ("incident_id");--> statement-breakpoint
CREATE INDEX "rejected_entries_username" ON "rejected_entries" USING hash ("username");--> statement-breakpoint
CREATE UNIQUE INDEX "top_ups_id" ON "top_ups" USING btree ("id");--> statement-breakpoint
CREATE INDEX "top_ups_due" ON "top_ups" USING btree ("next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "top_ups_status" ON "top_ups" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "top_ups_player" ON "top_ups" USING btree ("username","id");--> statement-breakpoint
CREATE INDEX "wallet_bets_round" ON "wallet_bets" USING btree ("product_id","username","round_id") WHERE round_id is not null;--> statement-breakpoint
CREATE INDEX "alerts_undelivered" ON "alerts" USING btree ("id") WHERE delivered_at is null;--> statement-breakpoint
CREATE INDEX "bet_record_versions_replaced" ON "bet_record_versions" USING btree ("replaced_at");--> statement-breakpoint
CREATE INDEX "bet_records_bet" ON "bet_records" USING btree ("product_id","bet_id");--> statement-breakpoint
CREATE INDEX "bet_records_accounted" ON "bet_records" USING btree ("product_id","accounting_date");--> statement-breakpoint
CREATE INDEX "callback_entries_top_up" ON "callback_entries" USING btree ("product_id","appended_in") WHERE callback = 'adjustBalance';--> statement-breakpoint
CREATE UNIQUE INDEX "transfers_id" ON "transfers" USING btree ("id");--> statement-breakpoint
CREATE INDEX "transfers_due" ON "transfers" USING btree ("next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "transfers_player" ON "transfers" USING btree ("username","id");--> statement-breakpoint
CREATE INDEX "callback_entries_txn" ON "callback_entries" USING btree ("product_id","txn_id","username");--> statement-breakpoint
CREATE INDEX "transfers_status" ON "transfers" USING btree ("status","id");