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
DROP INDEX "bet_records_bet";--> statement-breakpoint
ALTER TABLE "bet_records" DROP CONSTRAINT "bet_records_product_id_username_bet_id_id_pk";--> statement-breakpoint
ALTER TABLE "bet_records" ADD CONSTRAINT "bet_records_product_id_bet_id_username_id_pk" PRIMARY KEY("product_id","bet_id","username","id");--> statement-breakpoint
ALTER TABLE "mismatch_events" ADD COLUMN "step" uuid;--> statement-breakpoint
ALTER TABLE "mismatch_events" ADD COLUMN "replaced" jsonb;--> statement-breakpoint
CREATE INDEX "ops_sessions_expire" ON "ops_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "mismatch_events_step" ON "mismatch_events" USING btree ("step") WHERE step is not null;--> statement-breakpoint
CREATE INDEX "mismatches_amount" ON "mismatches" USING btree ("status","amount_at_risk","id","currency");--> statement-breakpoint
CREATE INDEX "mismatches_first_seen" ON "mismatches" USING btree ("status","first_seen_at","id");--> statement-breakpoint
CREATE INDEX "mismatches_occurred" ON "mismatches" USING btree ("status","occurred_at","id");--> statement-breakpoint
CREATE INDEX "rejected_records_player" ON "rejected_records" USING hash ((substring("raw" from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"')));