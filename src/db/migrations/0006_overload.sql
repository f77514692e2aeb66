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
CREATE TABLE "pull_turns" (
	"product_id" text NOT NULL,
	"lanes" text NOT NULL,
	"served_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "pull_turns_product_id_lanes_pk" PRIMARY KEY("product_id","lanes")
);
--> statement-breakpoint
CREATE TABLE "request_pauses" (
	"product_id" text PRIMARY KEY NOT NULL,
	"paused_until" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "callback_signatures" (
	"signed_at" timestamp (6) with time zone NOT NULL,
	"signature" text NOT NULL,
	"callback" text NOT NULL,
	CONSTRAINT "callback_signatures_signed_at_signature_pk" PRIMARY KEY("signed_at","signature")
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
ALTER TABLE "pull_states" ADD COLUMN "steady_ms" integer;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "probe_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "probe_ms" integer;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "lost_turn" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "timeouts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "restarts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "windows_leased" ON "windows" USING btree ("product_id","kind") WHERE lease_token is not null;--> statement-breakpoint
CREATE INDEX "top_ups_due_of" ON "top_ups" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "transfers_due_of" ON "transfers" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;