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
CREATE TABLE "closed_bets" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"subject" text NOT NULL,
	"bet_ref" text NOT NULL,
	"day" date NOT NULL,
	"currency" text NOT NULL,
	"provider_bets" integer NOT NULL,
	"provider_stake" numeric NOT NULL,
	"provider_payout" numeric NOT NULL,
	"provider_net" numeric NOT NULL,
	"ledger_bets" integer,
	"ledger_stake" numeric,
	"ledger_payout" numeric,
	"ledger_net" numeric,
	"mismatches" numeric,
	"adjustments" numeric,
	"pending" numeric,
	"rounding" numeric,
	"ledger_moved" numeric,
	"outside" numeric,
	CONSTRAINT "closed_bets_product_id_username_subject_bet_ref_day_currency_pk" PRIMARY KEY("product_id","username","subject","bet_ref","day","currency")
);
--> statement-breakpoint
CREATE TABLE "closed_days" (
	"day" date PRIMARY KEY NOT NULL,
	"zone" text NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"number" bigint NOT NULL,
	"closed_at" timestamp (6) with time zone NOT NULL,
	"hash" text NOT NULL,
	"previous_hash" text,
	"statement" jsonb NOT NULL,
	CONSTRAINT "closed_days_number_unique" UNIQUE("number"),
	CONSTRAINT "closed_days_hash_unique" UNIQUE("hash"),
	CONSTRAINT "closed_days_previous_hash_unique" UNIQUE("previous_hash")
);
--> statement-breakpoint
CREATE TABLE "closing_marks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "closing_marks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"usernames" text[] NOT NULL,
	"round_ids" text[] NOT NULL,
	"bet_refs" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "closing_states" (
	"id" integer PRIMARY KEY NOT NULL,
	"since" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "corrections" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "corrections_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"day" date NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"correction" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "row_counts" (
	"table_name" text NOT NULL,
	"product_id" text NOT NULL,
	"rows" bigint NOT NULL,
	"counted_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "row_counts_table_name_product_id_pk" PRIMARY KEY("table_name","product_id")
);
--> statement-breakpoint
CREATE TABLE "rows_added" (
	"table_name" text NOT NULL,
	"product_id" text NOT NULL,
	"added" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "installations" (
	"id" integer PRIMARY KEY NOT NULL,
	"installation_id" text NOT NULL,
	"written_at" timestamp (6) with time zone NOT NULL
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
	"received_at" timestamp (6) with time zone NOT NULL,
	"appended_in" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"single_state" boolean,
	"end_round" boolean
);
--> statement-breakpoint
CREATE TABLE "entry_days" (
	"day" date PRIMARY KEY NOT NULL,
	"entries" bigint NOT NULL,
	"digest" bigint NOT NULL,
	"compared_at" timestamp (6) with time zone,
	"uncounted" boolean DEFAULT false NOT NULL,
	"unwatched_at" timestamp (6) with time zone,
	"gone_at" timestamp (6) with time zone,
	"accepted" bigint,
	"accepted_digest" bigint,
	"found" bigint
);
--> statement-breakpoint
CREATE TABLE "entry_notes" (
	"day" date NOT NULL,
	"added" integer NOT NULL,
	"digest" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "entry_versions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "entry_versions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"entry_id" text NOT NULL,
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"txn_id" text NOT NULL,
	"content" jsonb NOT NULL,
	"change" text NOT NULL,
	"changed_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger_follows" (
	"relation" text PRIMARY KEY NOT NULL,
	"read_until" timestamp (6) with time zone,
	"read_at" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "ledger_imports" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger_imports_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (6) with time zone NOT NULL,
	"ended_at" timestamp (6) with time zone,
	"who" text NOT NULL,
	"via" text NOT NULL,
	"format" text NOT NULL,
	"name" text,
	"bytes" bigint,
	"added" bigint,
	"known" bigint,
	"changed" bigint,
	"skipped" bigint,
	"rejected" bigint,
	"rejected_lines" jsonb,
	"error" text
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
CREATE TABLE "ledger_settings" (
	"id" integer PRIMARY KEY NOT NULL,
	"rows_change" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger_starts" (
	"product_id" text PRIMARY KEY NOT NULL,
	"starts_at" timestamp (6) with time zone NOT NULL
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
	"kind" text DEFAULT 'unusable' NOT NULL,
	"reported_at" timestamp (6) with time zone,
	CONSTRAINT "rejected_entries_entry_digest_unique" UNIQUE("entry_digest")
);
--> statement-breakpoint
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
CREATE TABLE "comments" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "comments_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"about" text NOT NULL,
	"about_id" bigint NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"by" text NOT NULL,
	"note" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "comparisons_set_aside" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"subject" text NOT NULL,
	"code" text NOT NULL,
	"reason" text NOT NULL,
	"since" timestamp (6) with time zone NOT NULL,
	"retry_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "comparisons_set_aside_product_id_username_subject_pk" PRIMARY KEY("product_id","username","subject")
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
	"ledger" jsonb,
	"step" uuid,
	"replaced" jsonb
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
	"ceased_at" timestamp (6) with time zone,
	"effect" numeric,
	CONSTRAINT "mismatches_identity" UNIQUE("product_id","username","subject","kind")
);
--> statement-breakpoint
CREATE TABLE "wide_rounds" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"round_id" text NOT NULL,
	"currency" text,
	"apart" text[] NOT NULL,
	"first_entry_at" timestamp (6) with time zone,
	"last_entry_at" timestamp (6) with time zone,
	"last_received_at" timestamp (6) with time zone,
	CONSTRAINT "wide_rounds_product_id_username_round_id_pk" PRIMARY KEY("product_id","username","round_id")
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (6) with time zone NOT NULL,
	"who" text NOT NULL,
	"role" text NOT NULL,
	"by" text NOT NULL,
	"address" text NOT NULL,
	"method" text NOT NULL,
	"route" text NOT NULL,
	"target" text NOT NULL,
	"details" text,
	"status" integer
);
--> statement-breakpoint
CREATE TABLE "ops_sessions" (
	"id_hash" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"token_proof" text NOT NULL,
	"created_at" timestamp (6) with time zone NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"ended_at" timestamp (6) with time zone
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
CREATE TABLE "fetched_times" (
	"product_id" text PRIMARY KEY NOT NULL,
	"times" "tstzmultirange" NOT NULL
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
	"ms_per_hour" double precision,
	"steady_ms" integer,
	"failures" integer DEFAULT 0 NOT NULL,
	"probe_at" timestamp (6) with time zone,
	"probe_ms" integer,
	"lost_turn" boolean DEFAULT false NOT NULL,
	"last_count" integer,
	"same_counts" integer DEFAULT 0 NOT NULL,
	"answer_limit" integer
);
--> statement-breakpoint
CREATE TABLE "pull_turns" (
	"product_id" text NOT NULL,
	"lanes" text NOT NULL,
	"served_at" timestamp (6) with time zone NOT NULL,
	"leases" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "pull_turns_product_id_lanes_pk" PRIMARY KEY("product_id","lanes")
);
--> statement-breakpoint
CREATE TABLE "request_budget" (
	"id" integer PRIMARY KEY NOT NULL,
	"paused_until" timestamp (6) with time zone NOT NULL,
	"next_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_pauses" (
	"product_id" text PRIMARY KEY NOT NULL,
	"paused_until" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_slots" (
	"slot" integer PRIMARY KEY NOT NULL,
	"holder" uuid NOT NULL,
	"held_until" timestamp (6) with time zone NOT NULL,
	"owed_verify" integer DEFAULT 0 NOT NULL,
	"owed_rest" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_waiters" (
	"waiter" uuid PRIMARY KEY NOT NULL,
	"urgency" integer NOT NULL,
	"seen_at" timestamp (6) with time zone NOT NULL,
	"since" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "resweep_states" (
	"product_id" text NOT NULL,
	"age_ms" bigint NOT NULL,
	"swept_until" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "resweep_states_product_id_age_ms_pk" PRIMARY KEY("product_id","age_ms")
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
	"resumed" boolean DEFAULT false NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"timeouts" integer DEFAULT 0 NOT NULL,
	"restarts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp (6) with time zone,
	CONSTRAINT "windows_range" CHECK (from_at < to_at)
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
	CONSTRAINT "bet_records_product_id_bet_id_username_id_pk" PRIMARY KEY("product_id","bet_id","username","id")
);
--> statement-breakpoint
CREATE TABLE "record_absences" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"bet_id" text NOT NULL,
	"id" text NOT NULL,
	"missed_since" timestamp (6) with time zone NOT NULL,
	"elsewhere" boolean DEFAULT false NOT NULL,
	"missed_at" timestamp (6) with time zone,
	"absent_since" timestamp (6) with time zone,
	"listed_from" timestamp (6) with time zone,
	"listed_to" timestamp (6) with time zone,
	CONSTRAINT "record_absences_product_id_username_bet_id_id_pk" PRIMARY KEY("product_id","username","bet_id","id")
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
CREATE TABLE "deleted_bets" (
	"digest" bigint PRIMARY KEY NOT NULL,
	"last_entry_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "retention_states" (
	"walk" text PRIMARY KEY NOT NULL,
	"deleted_up_to" timestamp (6) with time zone NOT NULL,
	"began_at" timestamp (6) with time zone,
	"after" text
);
--> statement-breakpoint
CREATE TABLE "storage_days" (
	"day" date PRIMARY KEY NOT NULL,
	"measured_at" timestamp (6) with time zone NOT NULL,
	"bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "storage_states" (
	"id" integer PRIMARY KEY NOT NULL,
	"measured_at" timestamp (6) with time zone NOT NULL,
	"bytes" bigint NOT NULL,
	"disk_bytes" bigint
);
--> statement-breakpoint
CREATE TABLE "storage_tables" (
	"table_name" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"due" bigint
);
--> statement-breakpoint
CREATE TABLE "trend_samples" (
	"product_id" text NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"lag_ms" bigint,
	"records" integer,
	"callbacks" integer,
	CONSTRAINT "trend_samples_product_id_at_pk" PRIMARY KEY("product_id","at")
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
CREATE TABLE "transfers" (
	"transaction_ref" text PRIMARY KEY NOT NULL,
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"currency" text NOT NULL,
	"type" text NOT NULL,
	"amount" numeric NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"sent_at" timestamp (6) with time zone NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "transfers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
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
	"lease_until" timestamp (6) with time zone
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
CREATE TABLE "callback_signatures" (
	"signed_at" timestamp (6) with time zone NOT NULL,
	"signature" text NOT NULL,
	"callback" text NOT NULL,
	CONSTRAINT "callback_signatures_signed_at_signature_pk" PRIMARY KEY("signed_at","signature")
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
CREATE TABLE "money_states" (
	"name" text PRIMARY KEY NOT NULL,
	"measured_at" timestamp (6) with time zone NOT NULL,
	"took_ms" bigint NOT NULL,
	"settings" text NOT NULL,
	"content" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "moved_deleted" (
	"product_id" text NOT NULL,
	"currency" text NOT NULL,
	"moved" numeric NOT NULL,
	"unstated" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "work_states" (
	"work" text NOT NULL,
	"subject" text NOT NULL,
	"since" timestamp (6) with time zone,
	"done_at" timestamp (6) with time zone,
	"up_to" timestamp (6) with time zone,
	"failing_since" timestamp (6) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"failed_at" timestamp (6) with time zone,
	"error_code" text,
	"error" text,
	"every_ms" bigint,
	CONSTRAINT "work_states_work_subject_pk" PRIMARY KEY("work","subject")
);
--> statement-breakpoint
ALTER TABLE "mismatch_events" ADD CONSTRAINT "mismatch_events_mismatch_id_mismatches_id_fk" FOREIGN KEY ("mismatch_id") REFERENCES "public"."mismatches"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "windows" ADD CONSTRAINT "windows_backfill_id_backfills_id_fk" FOREIGN KEY ("backfill_id") REFERENCES "public"."backfills"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "alerts_undelivered" ON "alerts" USING btree ("id") WHERE delivered_at is null;--> statement-breakpoint
CREATE INDEX "incident_members_of" ON "incident_members" USING btree ("incident_id");--> statement-breakpoint
CREATE INDEX "corrections_day" ON "corrections" USING btree ("day");--> statement-breakpoint
CREATE INDEX "corrections_at" ON "corrections" USING btree ("at");--> statement-breakpoint
CREATE INDEX "callback_entries_top_up" ON "callback_entries" USING btree ("product_id","appended_in") WHERE callback = 'adjustBalance';--> statement-breakpoint
CREATE INDEX "callback_entries_txn" ON "callback_entries" USING btree ("product_id","txn_id","username");--> statement-breakpoint
CREATE INDEX "callback_entries_round" ON "callback_entries" USING btree ("product_id","username","round_id");--> statement-breakpoint
CREATE INDEX "callback_entries_received" ON "callback_entries" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "callback_entries_occurred" ON "callback_entries" USING btree ("occurred_at");--> statement-breakpoint
CREATE INDEX "callback_entries_adjusted" ON "callback_entries" USING btree ("product_id","username","occurred_at") WHERE callback = 'adjustBalance';--> statement-breakpoint
CREATE INDEX "callback_entries_rewarded" ON "callback_entries" USING btree ("product_id","username","occurred_at") WHERE callback in ('winRewards', 'placeTips', 'cancelTips');--> statement-breakpoint
CREATE INDEX "entry_days_gone" ON "entry_days" USING btree ("day") WHERE gone_at is not null;--> statement-breakpoint
CREATE INDEX "entry_versions_bet" ON "entry_versions" USING btree ("product_id","txn_id","username");--> statement-breakpoint
CREATE INDEX "ledger_imports_at" ON "ledger_imports" USING btree ("at");--> statement-breakpoint
CREATE INDEX "rejected_entries_username" ON "rejected_entries" USING hash ("username");--> statement-breakpoint
CREATE INDEX "rejected_entries_unreported" ON "rejected_entries" USING btree ("id") WHERE reported_at is null;--> statement-breakpoint
CREATE INDEX "adjustments_of" ON "adjustments" USING btree ("mismatch_id");--> statement-breakpoint
CREATE INDEX "adjustments_at" ON "adjustments" USING btree ("at");--> statement-breakpoint
CREATE INDEX "comments_of" ON "comments" USING btree ("about","about_id","id");--> statement-breakpoint
CREATE INDEX "diff_marks_due" ON "diff_marks" USING btree ("product_id","due_at");--> statement-breakpoint
CREATE INDEX "mismatch_events_of" ON "mismatch_events" USING btree ("mismatch_id","id");--> statement-breakpoint
CREATE INDEX "mismatch_events_step" ON "mismatch_events" USING btree ("step") WHERE step is not null;--> statement-breakpoint
CREATE INDEX "mismatches_status" ON "mismatches" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "mismatches_amount" ON "mismatches" USING btree ("status","amount_at_risk","id","currency");--> statement-breakpoint
CREATE INDEX "mismatches_first_seen" ON "mismatches" USING btree ("status","first_seen_at","id");--> statement-breakpoint
CREATE INDEX "mismatches_occurred" ON "mismatches" USING btree ("status","occurred_at","id");--> statement-breakpoint
CREATE INDEX "mismatches_unsettled" ON "mismatches" USING btree ("product_id") WHERE status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon');--> statement-breakpoint
CREATE INDEX "mismatches_misnamed" ON "mismatches" USING btree ("product_id",(provider ->> 'username')) WHERE kind = 'username-differs';--> statement-breakpoint
CREATE INDEX "mismatches_player" ON "mismatches" USING btree ("username","id");--> statement-breakpoint
CREATE INDEX "mismatches_last_seen" ON "mismatches" USING btree ("last_seen_at");--> statement-breakpoint
CREATE INDEX "mismatches_over" ON "mismatches" USING btree ("resolved_at") WHERE resolved_at is not null;--> statement-breakpoint
CREATE INDEX "mismatches_counted" ON "mismatches" USING btree ("status","product_id","kind");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "ops_sessions_expire" ON "ops_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "windows_unfinished" ON "windows" USING btree ("product_id","kind","from_at") WHERE status in ('planned', 'gap');--> statement-breakpoint
CREATE INDEX "windows_backfill" ON "windows" USING btree ("backfill_id") WHERE backfill_id is not null;--> statement-breakpoint
CREATE INDEX "windows_leased" ON "windows" USING btree ("product_id","kind") WHERE lease_token is not null;--> statement-breakpoint
CREATE INDEX "windows_coverage" ON "windows" USING btree ("product_id","to_at") WHERE status = 'done';--> statement-breakpoint
CREATE INDEX "bet_record_versions_key" ON "bet_record_versions" USING btree ("product_id","username","bet_id","id");--> statement-breakpoint
CREATE INDEX "bet_record_versions_replaced" ON "bet_record_versions" USING btree ("replaced_at");--> statement-breakpoint
CREATE INDEX "bet_records_round" ON "bet_records" USING btree ("product_id","username","round_id");--> statement-breakpoint
CREATE INDEX "bet_records_id" ON "bet_records" USING btree ("product_id","id");--> statement-breakpoint
CREATE INDEX "bet_records_accounted" ON "bet_records" USING btree ("product_id","accounting_date");--> statement-breakpoint
CREATE INDEX "record_absences_elsewhere" ON "record_absences" USING btree ("product_id","listed_to") WHERE elsewhere;--> statement-breakpoint
CREATE INDEX "rejected_records_player" ON "rejected_records" USING hash ((substring("raw" from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"')));--> statement-breakpoint
CREATE INDEX "deleted_bets_last" ON "deleted_bets" USING btree ("last_entry_at");--> statement-breakpoint
CREATE INDEX "trend_samples_at" ON "trend_samples" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "top_ups_id" ON "top_ups" USING btree ("id");--> statement-breakpoint
CREATE INDEX "top_ups_due" ON "top_ups" USING btree ("next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "top_ups_due_of" ON "top_ups" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "top_ups_status" ON "top_ups" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "top_ups_player" ON "top_ups" USING btree ("username","id");--> statement-breakpoint
CREATE UNIQUE INDEX "transfers_id" ON "transfers" USING btree ("id");--> statement-breakpoint
CREATE INDEX "transfers_due" ON "transfers" USING btree ("next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "transfers_due_of" ON "transfers" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "transfers_status" ON "transfers" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "transfers_player" ON "transfers" USING btree ("username","id");--> statement-breakpoint
CREATE INDEX "callback_bodies_received" ON "callback_bodies" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "wallet_bets_round" ON "wallet_bets" USING btree ("product_id","username","round_id") WHERE round_id is not null;
--> statement-breakpoint
-- Drizzle wrote everything above. What follows is written by hand, because drizzle does not know it.
--
-- Large tables from which old rows are deleted in batches: by default a vacuum starts once a fifth of the rows is dead, which is far
-- too late for a billion rows. New rows are vacuumed early too, so their pages are frozen long before PostgreSQL must.
ALTER TABLE "alert_deliveries" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "alerts" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "audit_log" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "bet_record_versions" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "bet_records" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "callback_bodies" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "callback_entries" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "callback_requests" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "closed_bets" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "deleted_bets" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "entry_versions" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "incident_members" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "mismatch_events" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "mismatches" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "record_absences" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "rejected_entries" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "rejected_records" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "top_up_answers" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "top_ups" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "transfer_answers" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "transfers" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "wallet_bets" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "wallet_tombstones" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "wide_rounds" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "windows" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
--> statement-breakpoint
-- Queues, and rows that change with each request: these tables stay small only if they are vacuumed often.
ALTER TABLE "closing_marks" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
ALTER TABLE "diff_marks" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
ALTER TABLE "entry_notes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
ALTER TABLE "rows_added" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
ALTER TABLE "wallets" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
ALTER TABLE "callback_signatures" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "pull_states" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "pull_turns" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "request_budget" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "request_slots" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "request_waiters" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "work_states" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
-- Functions and triggers. They trust nothing of the session that fires them, because some run as the owner of the tables for any role
-- that may insert. So every function searches names in pg_catalog alone and names its tables with their schema, only the owner may call it
-- or make a trigger of it, and a trigger function refuses another table than its own. test/db/functions.test.ts reads them all.
--
-- The first column because of which a row cannot be an entry, or "occurred_at ahead"; null: there is none. PostgreSQL cannot inline a
-- function with settings, so it is called for each row (2.5 µs instead of 1.5). recon_take_inserted, which looks at every row, therefore
-- has the same "case", word for word; a test compares them.
CREATE FUNCTION recon_entry_fault(
  entry_id text, callback text, product_id text, username text, txn_id text, round_id text, bet_amount
  numeric, payout_amount numeric, moved numeric, balance_before numeric, balance_after numeric, occurred_at
  timestamptz, received_at timestamptz, transaction_type text DEFAULT NULL
) RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
begin
  return case
      when callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets',
        'rollback', 'placeTips', 'cancelTips', 'adjustBalance') then 'callback'
      when transaction_type not in ('BY_TRANSACTION', 'BY_ROUND') then 'transaction_type'
      when octet_length(entry_id) > 600 then 'entry_id'
      when octet_length(product_id) > 600 then 'product_id'
      when octet_length(username) > 600 then 'username'
      when octet_length(txn_id) > 600 then 'txn_id'
      when octet_length(round_id) > 600 then 'round_id'
      when bet_amount not between -1e61 and 1e61 or scale(bet_amount) > 60 and min_scale(bet_amount) > 60 then 'bet_amount'
      when payout_amount not between -1e61 and 1e61 or scale(payout_amount) > 60 and min_scale(payout_amount) > 60 then 'payout_amount'
      when moved not between -1e61 and 1e61 or scale(moved) > 60 and min_scale(moved) > 60 then 'moved'
      when balance_before not between -1e61 and 1e61 or scale(balance_before) > 60 and min_scale(balance_before) > 60 then 'balance_before'
      when balance_after not between -1e61 and 1e61 or scale(balance_after) > 60 and min_scale(balance_after) > 60 then 'balance_after'
      when received_at not between '2010-01-01T00:00:00Z' and '9999-12-31T00:00:00Z' then 'received_at'
      when occurred_at < '2010-01-01T00:00:00Z' then 'occurred_at'
      when occurred_at > received_at + interval '24 hours' then 'occurred_at ahead'
    end;
end
$$;
--> statement-breakpoint
-- A callback or a transaction type as the program writes it: "by_round" becomes BY_ROUND. Unknown words stay as they are.
CREATE FUNCTION recon_spelling(word text) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
begin
  return case lower(word)
    when 'placebets' then 'placeBets' when 'settlebets' then 'settleBets' when 'cancelbets' then 'cancelBets'
    when 'voidsettled' then 'voidSettled' when 'winrewards' then 'winRewards' when 'adjustbets' then 'adjustBets'
    when 'rollback' then 'rollback' when 'placetips' then 'placeTips' when 'canceltips' then 'cancelTips'
    when 'adjustbalance' then 'adjustBalance' when 'by_transaction' then 'BY_TRANSACTION' when 'by_bet' then 'BY_TRANSACTION'
    when 'by_round' then 'BY_ROUND' else word
  end;
end
$$;
--> statement-breakpoint
-- Says what is wrong with a row: the column and its value.
CREATE FUNCTION recon_describe_fault(fault text, content jsonb) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  select format(case
      when fault = 'callback' then 'callback is "%s", which is none of placeBets, settleBets, cancelBets, voidSettled, winRewards, adjustBets, rollback, placeTips, cancelTips, adjustBalance'
      when fault = 'transaction_type' then 'transaction_type is "%s", which is none of BY_TRANSACTION, BY_ROUND'
      when fault in ('entry_id', 'product_id', 'username', 'txn_id', 'round_id') then fault || ' is longer than 600 bytes: "%s"'
      when fault = 'received_at' then 'received_at is %s, which lies before 2010 or after 9999'
      when fault = 'occurred_at' then 'occurred_at is %s, which lies before 2010: is its unit right (milliseconds, seconds)?'
      when fault = 'occurred_at ahead' then 'occurred_at is %s, more than a day after received_at, which is ' || (content ->> 'received_at')
      else fault || ' is %s, which is no decimal of at most 60 digits on either side of the point'
    end, left(content ->> split_part(fault, ' ', 1), 80))
$$;
--> statement-breakpoint
-- The content of a row. The time zone is fixed, so every session gets the same text.
CREATE FUNCTION recon_content(e callback_entries) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  select to_jsonb(e) - 'appended_in'
$$;
--> statement-breakpoint
-- Keeps a row that cannot be an entry in rejected_entries, for the operator. Returns true if it was not there before.
CREATE FUNCTION recon_reject_entry(e callback_entries, rejected_as text, why text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
declare
  content text := public.recon_content(e)::text;
  is_new boolean;
begin
  insert into public.rejected_entries as r
    (entry_digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
  values (md5(case rejected_as when 'changed' then 'changed ' || why || content else coalesce(e.entry_id, content) end),
    rejected_as, e.entry_id, e.product_id, e.username, e.txn_id, e.round_id, content, why, now())
  on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason, product_id = excluded.product_id,
    username = excluded.username, txn_id = excluded.txn_id, round_id = excluded.round_id, reported_at = null
    where r.raw <> excluded.raw
  returning xmax = 0 into is_new;
  if found then raise notice 'callback_entries: a row is kept in rejected_entries: %', why; end if;
  return coalesce(is_new, false);
end
$$;
--> statement-breakpoint
-- Marks what an entry touches for comparison, and notes the entry in the account of its day. "change" is 1 for an added entry, -1 for a
-- removed one.
CREATE FUNCTION recon_mark_entry(e callback_entries, change integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (e.product_id, array[e.username], array[nullif(nullif(e.round_id, ''), 'UNKNOWN')], array[e.txn_id],
    least(e.received_at, now()));
  insert into public.entry_notes (day, added, digest)
  values ((e.occurred_at at time zone 'UTC')::date, change,
    hashtextextended(e.entry_id, hashtextextended(e.txn_id, coalesce(hash_numeric_extended(e.moved, 0), 1)
      # coalesce(hash_numeric_extended(e.bet_amount, 2), 3) # coalesce(hash_numeric_extended(e.payout_amount, 4), 5))));
end
$$;
--> statement-breakpoint
-- Marks what new entries touch for comparison, notes the entries in the accounts of their days, and moves unusable rows to
-- rejected_entries. The marks become visible when the entries commit. Most writers insert one row at a time, so that case must be the
-- cheapest. A row of diff_marks holds at most 30 bets: a longer one would be compressed while the writer waits. A mark names the bet as
-- well as its round, because in a large round only bets that do not already reconcile are compared.
CREATE FUNCTION recon_take_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
declare
  total integer;
  unusable integer;
  foreign_top_ups integer;
  product text;
  player text;
  round text;
  bet text;
  received timestamptz;
  first_day date;
  last_day date;
  digests bigint;
  e public.callback_entries;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  select count(*), min(product_id collate "C"), min(username collate "C"),
    nullif(nullif(min(round_id collate "C"), ''), 'UNKNOWN'), min(txn_id collate "C"), max(received_at),
    count(case
      when callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets',
        'rollback', 'placeTips', 'cancelTips', 'adjustBalance') then 'callback'
      when transaction_type not in ('BY_TRANSACTION', 'BY_ROUND') then 'transaction_type'
      when octet_length(entry_id) > 600 then 'entry_id'
      when octet_length(product_id) > 600 then 'product_id'
      when octet_length(username) > 600 then 'username'
      when octet_length(txn_id) > 600 then 'txn_id'
      when octet_length(round_id) > 600 then 'round_id'
      when bet_amount not between -1e61 and 1e61 or scale(bet_amount) > 60 and min_scale(bet_amount) > 60 then 'bet_amount'
      when payout_amount not between -1e61 and 1e61 or scale(payout_amount) > 60 and min_scale(payout_amount) > 60 then 'payout_amount'
      when moved not between -1e61 and 1e61 or scale(moved) > 60 and min_scale(moved) > 60 then 'moved'
      when balance_before not between -1e61 and 1e61 or scale(balance_before) > 60 and min_scale(balance_before) > 60 then 'balance_before'
      when balance_after not between -1e61 and 1e61 or scale(balance_after) > 60 and min_scale(balance_after) > 60 then 'balance_after'
      when received_at not between '2010-01-01T00:00:00Z' and '9999-12-31T00:00:00Z' then 'received_at'
      when occurred_at < '2010-01-01T00:00:00Z' then 'occurred_at'
      when occurred_at > received_at + interval '24 hours' then 'occurred_at ahead'
    end),
    count(*) filter (where callback = 'adjustBalance' and appended_in <> pg_current_xact_id()),
    (min(occurred_at) at time zone 'UTC')::date, (max(occurred_at) at time zone 'UTC')::date,
    bit_xor(hashtextextended(entry_id, hashtextextended(txn_id, coalesce(hash_numeric_extended(moved, 0), 1)
      # coalesce(hash_numeric_extended(bet_amount, 2), 3) # coalesce(hash_numeric_extended(payout_amount, 4), 5))))
  into total, product, player, round, bet, received, unusable, foreign_top_ups, first_day, last_day, digests
  from inserted;
  -- Top-ups are found by the transaction that wrote them, and a copy of the table brings those of another time along.
  if foreign_top_ups > 0 then
    update public.callback_entries set appended_in = pg_current_xact_id() where entry_id in (
      select i.entry_id from inserted i where i.callback = 'adjustBalance' and i.appended_in <> pg_current_xact_id());
  end if;
  if unusable > 0 then
    -- Some may only be spelled otherwise ("by_round"); recon_take_change lets this update pass.
    update public.callback_entries c
    set callback = public.recon_spelling(c.callback), transaction_type = public.recon_spelling(c.transaction_type)
    where c.entry_id in (select i.entry_id from inserted i where i.callback <> public.recon_spelling(i.callback)
      or i.transaction_type <> public.recon_spelling(i.transaction_type));
    perform set_config('wallet_recon.entries', 'accounted', true);
    for e in
      delete from public.callback_entries c where c.entry_id in (select i.entry_id from inserted i)
        and public.recon_entry_fault(
          c.entry_id, c.callback, c.product_id, c.username, c.txn_id, c.round_id, c.bet_amount, c.payout_amount,
          c.moved, c.balance_before, c.balance_after, c.occurred_at, c.received_at, c.transaction_type) is not null
      returning *
    loop
      perform public.recon_reject_entry(e, 'unusable'::text, public.recon_describe_fault(public.recon_entry_fault(
        e.entry_id, e.callback, e.product_id, e.username, e.txn_id, e.round_id, e.bet_amount, e.payout_amount,
        e.moved, e.balance_before, e.balance_after, e.occurred_at, e.received_at, e.transaction_type),
        public.recon_content(e)));
    end loop;
    perform set_config('wallet_recon.entries', '', true);
  end if;
  if total > 1 then
    insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), least(max(received_at), now())
    from (
      select product_id, username, round_id, bet_ref, max(received_at) as received_at,
        (row_number() over () - 1) / 30 as part
      from (
        select product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id as bet_ref, received_at
        from inserted
      ) entries
      group by product_id, username, round_id, bet_ref
    ) touched
    group by product_id, part;
  elsif total = 1 then
    insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values (product, array[player], array[round], array[bet], least(received, now()));
  end if;
  if unusable = 0 and first_day = last_day then
    insert into public.entry_notes (day, added, digest) values (first_day, total, digests);
  else
    insert into public.entry_notes (day, added, digest)
    select (i.occurred_at at time zone 'UTC')::date, count(*),
      bit_xor(hashtextextended(i.entry_id, hashtextextended(i.txn_id, coalesce(hash_numeric_extended(i.moved, 0), 1)
        # coalesce(hash_numeric_extended(i.bet_amount, 2), 3) # coalesce(hash_numeric_extended(i.payout_amount, 4), 5))))
    from inserted i
    where unusable = 0 or exists (select from public.callback_entries c where c.entry_id = i.entry_id)
    group by 1;
  end if;
  return null;
end
$$;
--> statement-breakpoint
-- Logical replication fires row triggers only.
CREATE FUNCTION recon_take_replicated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
declare
  fault text;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  if new.callback <> public.recon_spelling(new.callback) or new.transaction_type <> public.recon_spelling(new.transaction_type) then
    new.callback := public.recon_spelling(new.callback);
    new.transaction_type := public.recon_spelling(new.transaction_type);
    update public.callback_entries set callback = new.callback, transaction_type = new.transaction_type
    where entry_id = new.entry_id;
  end if;
  fault := public.recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount, new.payout_amount,
    new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at, new.transaction_type);
  if fault is null then
    perform public.recon_mark_entry(new, 1);
    if new.callback = 'adjustBalance' then
      update public.callback_entries set appended_in = pg_current_xact_id() where entry_id = new.entry_id;
    end if;
  else
    perform set_config('wallet_recon.entries', 'accounted', true);
    delete from public.callback_entries where entry_id = new.entry_id;
    perform set_config('wallet_recon.entries', '', true);
    perform public.recon_reject_entry(new, 'unusable'::text, public.recon_describe_fault(fault, public.recon_content(new)));
  end if;
  return null;
end
$$;
--> statement-breakpoint
-- Handles an update or a delete by ledger.rowsChange. "never": the row stays, and the change goes to rejected_entries. "replace": the
-- change is made, the former content goes to entry_versions, and what either content touches is compared again.
CREATE FUNCTION recon_take_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
declare
  may_change boolean;
  fault text;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  if tg_op = 'UPDATE' then
    new.callback := public.recon_spelling(new.callback);
    new.transaction_type := public.recon_spelling(new.transaction_type);
    old.callback := public.recon_spelling(old.callback);
    old.transaction_type := public.recon_spelling(old.transaction_type);
  end if;
  -- Who wrote a row is nothing that it says.
  if tg_op = 'UPDATE' and public.recon_content(new) = public.recon_content(old) then
    new.appended_in := pg_current_xact_id();
    return new;
  end if;
  may_change := exists (select from public.ledger_settings where rows_change = 'replace');
  fault := case when tg_op = 'UPDATE' then public.recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount, new.payout_amount,
    new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at, new.transaction_type) end;
  if fault is not null then
    perform public.recon_reject_entry(new, 'changed'::text, format('entry "%s" was changed to what cannot be used; its first content stays: %s',
      old.entry_id, public.recon_describe_fault(fault, public.recon_content(new))));
    return null;
  end if;
  if not may_change then
    if tg_op = 'DELETE' then
      perform public.recon_reject_entry(old, 'changed'::text,
        format('entry "%s" was deleted; it stays, because ledger.rowsChange is "never"', old.entry_id));
    else
      perform public.recon_reject_entry(new, 'changed'::text, format(
        'entry "%s" was changed (%s); its first content stays, because ledger.rowsChange is "never"', old.entry_id,
        (select string_agg(format('%s from %s to %s', b.key, b.value, a.value), ', ' order by b.key)
          from jsonb_each(public.recon_content(old)) b join jsonb_each(public.recon_content(new)) a using (key)
          where a.value <> b.value)));
    end if;
    return null;
  end if;
  insert into public.entry_versions (entry_id, product_id, username, txn_id, content, change, changed_at)
  values (old.entry_id, old.product_id, old.username, old.txn_id, public.recon_content(old),
    case tg_op when 'DELETE' then 'deleted' else 'replaced' end, now());
  perform public.recon_mark_entry(old, -1);
  if tg_op = 'DELETE' then return old; end if;
  perform public.recon_mark_entry(new, 1);
  return new;
end
$$;
--> statement-breakpoint
CREATE FUNCTION recon_refuse_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  raise exception 'callback_entries is a ledger and cannot be truncated'
    using hint = 'Delete rows instead: with ledger.rowsChange "replace" their history is kept, and what they touch is compared again.';
end
$$;
--> statement-breakpoint
-- Does nothing. Part of the list of triggers whose absence a worker repairs by marking every entry.
CREATE FUNCTION recon_take_checked() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  return null;
end
$$;
--> statement-breakpoint
-- Enables the triggers after a restore that had disabled them. Writers wait for it, so it leaves the slow part to recon_mark_entries:
-- until that has run, recon_truncated is enabled "always". recon_emptied also refuses a truncate by logical replication or the
-- replica role.
CREATE FUNCTION recon_watch_entries() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  alter table public.callback_entries enable trigger recon_checked;
  alter table public.callback_entries enable trigger recon_inserted;
  alter table public.callback_entries enable replica trigger recon_replicated;
  alter table public.callback_entries enable always trigger recon_updated;
  alter table public.callback_entries enable trigger recon_deleted;
  alter table public.callback_entries enable always trigger recon_emptied;
  alter table public.callback_entries enable always trigger recon_truncated;
  perform public.recon_recount_entries();
  update public.entry_days set unwatched_at = now() where not uncounted;
end
$$;
--> statement-breakpoint
-- Schedules a check of every day's account, because rows may have been added, changed or removed without a note. A day without an account
-- accepts what is found, because a restore fills it. If there is no account at all, every day does so, although writers have noted rows
-- since the restore. The days are found by the index of occurred_at, from one day to the next.
CREATE FUNCTION recon_recount_entries() RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  with recursive days (day) as (
    select (min(occurred_at) at time zone 'UTC')::date from public.callback_entries
    union all
    select (
      select (min(occurred_at) at time zone 'UTC')::date from public.callback_entries
      where occurred_at >= (d.day + 1)::timestamp at time zone 'UTC')
    from days d where d.day is not null
  ),
  noted as (select day, sum(added) as entries from public.entry_notes group by day)
  insert into public.entry_days as d (day, entries, digest, uncounted)
  select k.day, 0, 0, coalesce(n.entries, 0) <= 0 or not exists (select from public.entry_days)
  from (select day from days where day is not null union select day from public.entry_days) k left join noted n on n.day = k.day
  order by k.day
  on conflict (day) do update set compared_at = null,
    uncounted = d.gone_at is null and (d.uncounted or d.entries <= 0 and excluded.uncounted)
$$;
--> statement-breakpoint
-- Marks every entry for comparison, and has all entries counted and searched for top-ups again, because rows may have been written while
-- the triggers were off. Unusable rows are moved to rejected_entries. The triggers are on meanwhile, so no row goes unnoticed; the lock
-- that blocks writers is taken last. Returns false if another session already does this.
CREATE FUNCTION recon_mark_entries() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
declare
  e public.callback_entries;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('callback_entries', 2)) then return false; end if;
  delete from public.top_up_states;
  delete from public.row_counts where table_name = 'callback_entries';
  update public.callback_entries
  set callback = public.recon_spelling(callback), transaction_type = public.recon_spelling(transaction_type)
  where callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets', 'rollback',
    'placeTips', 'cancelTips', 'adjustBalance') or transaction_type not in ('BY_TRANSACTION', 'BY_ROUND');
  perform set_config('wallet_recon.entries', 'accounted', true);
  for e in
    delete from public.callback_entries c where public.recon_entry_fault(
      c.entry_id, c.callback, c.product_id, c.username, c.txn_id, c.round_id, c.bet_amount, c.payout_amount,
      c.moved, c.balance_before, c.balance_after, c.occurred_at, c.received_at, c.transaction_type) is not null
    returning *
  loop
    perform public.recon_reject_entry(e, 'unusable'::text, public.recon_describe_fault(public.recon_entry_fault(
      e.entry_id, e.callback, e.product_id, e.username, e.txn_id, e.round_id, e.bet_amount, e.payout_amount,
      e.moved, e.balance_before, e.balance_after, e.occurred_at, e.received_at, e.transaction_type),
      public.recon_content(e)));
  end loop;
  perform set_config('wallet_recon.entries', '', true);
  insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), least(max(received_at), now())
  from (
    select *, (row_number() over (partition by product_id order by received_at) - 1) / 500 as part
    from (
      select product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id as bet_ref,
        max(received_at) as received_at
      from public.callback_entries group by 1, 2, 3, 4
    ) touched
  ) numbered
  group by product_id, part;
  alter table public.callback_entries enable trigger recon_truncated;
  return true;
end
$$;
--> statement-breakpoint
-- Notes the marks that a comparison has removed, for the corrections of closed days.
CREATE FUNCTION note_compared_marks() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.diff_marks'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  insert into public.closing_marks (product_id, usernames, round_ids, bet_refs)
  select product_id, usernames, round_ids, bet_refs from gone;
  return null;
end
$$;
--> statement-breakpoint
-- Notes the bets and rounds whose mismatch changed, for the corrections of closed days; for both players if it names two.
CREATE FUNCTION note_changed_mismatches() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.mismatches'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  insert into public.closing_marks (product_id, usernames, round_ids, bet_refs)
  select product_id, array_agg(named.username), array_agg(round_id), array_agg(named.ref)
  from changed cross join lateral (
    values (username, coalesce(transaction_id, bet_id)), (username, bet_id),
      (username, case when subject like 'bet:%' then substr(subject, 5) when subject like 'session:%' then subject end),
      (provider ->> 'username', bet_id)
  ) as named (username, ref)
  where named.username is not null and coalesce(named.ref, round_id) is not null
  group by product_id;
  return null;
end
$$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION recon_entry_fault(text, text, text, text, text, text, numeric, numeric, numeric, numeric, numeric, timestamptz, timestamptz, text),
  recon_spelling(text), recon_describe_fault(text, jsonb), recon_content(callback_entries), recon_reject_entry(callback_entries, text, text),
  recon_mark_entry(callback_entries, integer), recon_take_inserted(), recon_take_replicated(), recon_take_change(),
  recon_refuse_truncate(), recon_take_checked(), recon_watch_entries(), recon_recount_entries(), recon_mark_entries(),
  note_compared_marks(), note_changed_mismatches() FROM PUBLIC;
--> statement-breakpoint
CREATE TRIGGER recon_checked AFTER INSERT ON "callback_entries" FOR EACH ROW
  WHEN (false) EXECUTE FUNCTION recon_take_checked();
--> statement-breakpoint
-- The built-in wallet writes the marks and the accounts of its entries itself, and retention the accounts of what it deletes. Their
-- transactions say so in a setting. Any session can set it, so it only counts for the owner of the table, its members and superusers: only
-- they may grant a right on the table to others. A right on a function would not do: a restore with --no-acl gives it to every role.
CREATE TRIGGER recon_inserted AFTER INSERT ON "callback_entries" REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT
  WHEN (coalesce(pg_catalog.current_setting('wallet_recon.entries', true), '') <> 'accounted'
    OR NOT pg_catalog.has_table_privilege('callback_entries'::pg_catalog.regclass, 'TRIGGER WITH GRANT OPTION'))
  EXECUTE FUNCTION recon_take_inserted();
--> statement-breakpoint
CREATE TRIGGER recon_deleted BEFORE DELETE ON "callback_entries" FOR EACH ROW
  WHEN (coalesce(pg_catalog.current_setting('wallet_recon.entries', true), '') <> 'accounted'
    OR NOT pg_catalog.has_table_privilege('callback_entries'::pg_catalog.regclass, 'TRIGGER WITH GRANT OPTION'))
  EXECUTE FUNCTION recon_take_change();
--> statement-breakpoint
-- After a restore, every trigger fires in all sessions until a worker starts. The condition keeps this one from noting again what
-- recon_inserted has noted.
CREATE TRIGGER recon_replicated AFTER INSERT ON "callback_entries" FOR EACH ROW
  WHEN (pg_catalog.current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION recon_take_replicated();
--> statement-breakpoint
CREATE TRIGGER recon_emptied BEFORE TRUNCATE ON "callback_entries" FOR EACH STATEMENT EXECUTE FUNCTION recon_refuse_truncate();
--> statement-breakpoint
CREATE TRIGGER recon_updated BEFORE UPDATE ON "callback_entries" FOR EACH ROW
  WHEN (new is distinct from old) EXECUTE FUNCTION recon_take_change();
--> statement-breakpoint
CREATE TRIGGER recon_truncated BEFORE TRUNCATE ON "callback_entries" FOR EACH STATEMENT
  EXECUTE FUNCTION recon_refuse_truncate();
--> statement-breakpoint
ALTER TABLE "callback_entries" ENABLE REPLICA TRIGGER recon_replicated;
--> statement-breakpoint
ALTER TABLE "callback_entries" ENABLE ALWAYS TRIGGER recon_updated;
--> statement-breakpoint
ALTER TABLE "callback_entries" ENABLE ALWAYS TRIGGER recon_emptied;
--> statement-breakpoint
-- These note what may change a closed day. They are disabled until the first day is closed, so they cost nothing before.
CREATE TRIGGER "note_compared_marks" AFTER DELETE ON "diff_marks" REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION "note_compared_marks"();
--> statement-breakpoint
ALTER TABLE "diff_marks" DISABLE TRIGGER "note_compared_marks";
--> statement-breakpoint
CREATE TRIGGER "note_new_mismatches" AFTER INSERT ON "mismatches" REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION "note_changed_mismatches"();
--> statement-breakpoint
CREATE TRIGGER "note_changed_mismatches" AFTER UPDATE ON "mismatches" REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION "note_changed_mismatches"();
--> statement-breakpoint
ALTER TABLE "mismatches" DISABLE TRIGGER "note_new_mismatches";
--> statement-breakpoint
ALTER TABLE "mismatches" DISABLE TRIGGER "note_changed_mismatches";
