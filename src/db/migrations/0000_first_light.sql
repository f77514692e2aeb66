CREATE TABLE "alerts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "alerts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"idempotency_key" text NOT NULL,
	"kind" text NOT NULL,
	"product_id" text,
	"body" jsonb NOT NULL,
	"created_at" timestamp (6) with time zone NOT NULL,
	"delivered_at" timestamp (6) with time zone,
	CONSTRAINT "alerts_idempotency_key_unique" UNIQUE("idempotency_key")
);
--> statement-breakpoint
CREATE TABLE "backfills" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "backfills_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"status" text NOT NULL,
	"requested_at" timestamp (6) with time zone NOT NULL,
	"started_at" timestamp (6) with time zone,
	"ended_at" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "bet_record_versions" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"bet_id" text NOT NULL,
	"id" text NOT NULL,
	"round_id" text NOT NULL,
	"currency" text NOT NULL,
	"stake" numeric NOT NULL,
	"payout" numeric NOT NULL,
	"game_code" text NOT NULL,
	"game_name" text NOT NULL,
	"bet_status" text NOT NULL,
	"payout_status" text NOT NULL,
	"accounting_date" timestamp (6) with time zone NOT NULL,
	"updated_date" timestamp (6) with time zone NOT NULL,
	"extra" jsonb,
	"version_seen_at" timestamp (6) with time zone NOT NULL,
	"requested_at" timestamp (6) with time zone NOT NULL,
	"replaced_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bet_records" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"bet_id" text NOT NULL,
	"id" text NOT NULL,
	"round_id" text NOT NULL,
	"currency" text NOT NULL,
	"stake" numeric NOT NULL,
	"payout" numeric NOT NULL,
	"game_code" text NOT NULL,
	"game_name" text NOT NULL,
	"bet_status" text NOT NULL,
	"payout_status" text NOT NULL,
	"accounting_date" timestamp (6) with time zone NOT NULL,
	"updated_date" timestamp (6) with time zone NOT NULL,
	"extra" jsonb,
	"version_seen_at" timestamp (6) with time zone NOT NULL,
	"requested_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "bet_records_product_id_username_bet_id_id_pk" PRIMARY KEY("product_id","username","bet_id","id")
);
--> statement-breakpoint
CREATE TABLE "callback_entries" (
	"entry_id" text PRIMARY KEY NOT NULL,
	"callback" text NOT NULL,
	"request_id" text NOT NULL,
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"txn_id" text NOT NULL,
	"round_id" text,
	"status" text NOT NULL,
	"bet_amount" numeric,
	"payout_amount" numeric,
	"transaction_type" text,
	"skip_balance_update" boolean NOT NULL,
	"moved" numeric,
	"balance_before" numeric,
	"balance_after" numeric,
	"occurred_at" timestamp (6) with time zone NOT NULL,
	"received_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "diff_marks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "diff_marks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"usernames" text[] NOT NULL,
	"round_ids" text[] NOT NULL,
	"bet_refs" text[] NOT NULL,
	"due_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mismatch_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mismatch_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"mismatch_id" bigint NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"from_status" text,
	"to_status" text NOT NULL,
	"by" text NOT NULL,
	"note" text,
	"amount_at_risk" numeric NOT NULL,
	"reason" text NOT NULL,
	"provider" jsonb,
	"ledger" jsonb
);
--> statement-breakpoint
CREATE TABLE "mismatches" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mismatches_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"subject" text NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"currency" text,
	"bet_id" text,
	"transaction_id" text,
	"round_id" text,
	"transaction_ref" text,
	"amount_at_risk" numeric NOT NULL,
	"reason" text NOT NULL,
	"provider" jsonb,
	"ledger" jsonb,
	"occurred_at" timestamp (6) with time zone NOT NULL,
	"first_seen_at" timestamp (6) with time zone NOT NULL,
	"last_seen_at" timestamp (6) with time zone NOT NULL,
	"resolved_at" timestamp (6) with time zone,
	"resolved_by" text,
	"note" text,
	CONSTRAINT "mismatches_identity" UNIQUE("product_id","username","subject","kind")
);
--> statement-breakpoint
CREATE TABLE "pull_states" (
	"product_id" text PRIMARY KEY NOT NULL,
	"begin" timestamp (6) with time zone NOT NULL,
	"head" timestamp (6) with time zone NOT NULL,
	"window_ms" integer NOT NULL,
	"ceiling_ms" integer,
	"stopped_until" timestamp (6) with time zone,
	"hold_for" integer DEFAULT 1 NOT NULL,
	"quick_answers" integer DEFAULT 0 NOT NULL,
	"ms_per_hour" double precision
);
--> statement-breakpoint
CREATE TABLE "rejected_records" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "rejected_records_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"raw" text NOT NULL,
	"raw_digest" text NOT NULL,
	"reason" text NOT NULL,
	"first_seen_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "rejected_records_once" UNIQUE("product_id","raw_digest")
);
--> statement-breakpoint
CREATE TABLE "request_budget" (
	"id" integer PRIMARY KEY NOT NULL,
	"paused_until" timestamp (6) with time zone NOT NULL,
	"next_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_slots" (
	"slot" integer PRIMARY KEY NOT NULL,
	"holder" uuid NOT NULL,
	"held_until" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_waiters" (
	"waiter" uuid PRIMARY KEY NOT NULL,
	"urgency" integer NOT NULL,
	"seen_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "resweep_states" (
	"product_id" text NOT NULL,
	"age_ms" bigint NOT NULL,
	"swept_until" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "resweep_states_product_id_age_ms_pk" PRIMARY KEY("product_id","age_ms")
);
--> statement-breakpoint
CREATE TABLE "transfers" (
	"transaction_ref" text PRIMARY KEY NOT NULL,
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"type" text NOT NULL,
	"amount" numeric NOT NULL,
	"status" text NOT NULL,
	"sent_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "windows" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "windows_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"kind" text NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"status" text DEFAULT 'planned' NOT NULL,
	"cursor" text,
	"cursor_at" timestamp (6) with time zone,
	"started_at" timestamp (6) with time zone,
	"fetched_at" timestamp (6) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (6) with time zone,
	"error_code" text,
	"error_message" text,
	"lease_token" uuid,
	"lease_until" timestamp (6) with time zone,
	"pages" integer DEFAULT 0 NOT NULL,
	"records" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"changed" integer DEFAULT 0 NOT NULL,
	"unchanged" integer DEFAULT 0 NOT NULL,
	"rejected" integer DEFAULT 0 NOT NULL,
	"out_of_range" integer DEFAULT 0 NOT NULL,
	"backfill_id" bigint,
	CONSTRAINT "windows_range" CHECK (from_at < to_at)
);
--> statement-breakpoint
ALTER TABLE "mismatch_events" ADD CONSTRAINT "mismatch_events_mismatch_id_mismatches_id_fk" FOREIGN KEY ("mismatch_id") REFERENCES "public"."mismatches"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "windows" ADD CONSTRAINT "windows_backfill_id_backfills_id_fk" FOREIGN KEY ("backfill_id") REFERENCES "public"."backfills"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bet_record_versions_key" ON "bet_record_versions" USING btree ("product_id","username","bet_id","id");--> statement-breakpoint
CREATE INDEX "bet_records_round" ON "bet_records" USING btree ("product_id","username","round_id");--> statement-breakpoint
CREATE INDEX "bet_records_id" ON "bet_records" USING btree ("product_id","id");--> statement-breakpoint
CREATE INDEX "callback_entries_txn" ON "callback_entries" USING btree ("product_id","username","txn_id");--> statement-breakpoint
CREATE INDEX "callback_entries_round" ON "callback_entries" USING btree ("product_id","username","round_id");--> statement-breakpoint
CREATE INDEX "callback_entries_received" ON "callback_entries" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "callback_entries_occurred" ON "callback_entries" USING btree ("occurred_at");--> statement-breakpoint
CREATE INDEX "diff_marks_due" ON "diff_marks" USING btree ("product_id","due_at");--> statement-breakpoint
CREATE INDEX "mismatch_events_of" ON "mismatch_events" USING btree ("mismatch_id","id");--> statement-breakpoint
CREATE INDEX "mismatches_status" ON "mismatches" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "transfers_status" ON "transfers" USING btree ("status");--> statement-breakpoint
CREATE INDEX "windows_unfinished" ON "windows" USING btree ("product_id","kind","from_at") WHERE status in ('planned', 'gap');--> statement-breakpoint
CREATE INDEX "windows_backfill" ON "windows" USING btree ("backfill_id") WHERE backfill_id is not null;--> statement-breakpoint
CREATE INDEX "windows_coverage" ON "windows" USING btree ("product_id","to_at") WHERE status = 'done';