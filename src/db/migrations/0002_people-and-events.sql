CREATE TABLE "idempotency_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"body_hash" text NOT NULL,
	"claim" text NOT NULL,
	"claimed_at" timestamp (6) with time zone NOT NULL,
	"status" integer,
	"answer" text,
	"location" text
);
--> statement-breakpoint
ALTER TABLE "alert_channels" ADD COLUMN "kinds" text[];--> statement-breakpoint
ALTER TABLE "alerts" ADD COLUMN "mismatch_id" bigint;--> statement-breakpoint
ALTER TABLE "alerts" ADD COLUMN "endpoints" text[];--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "ticket" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "with_provider" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "remind_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "reminded_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "changed_in" "xid8";--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "ticket" text;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "with_provider" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "remind_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "reminded_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "changed_in" "xid8";--> statement-breakpoint
CREATE INDEX "idempotency_keys_claimed" ON "idempotency_keys" USING btree ("claimed_at");--> statement-breakpoint
CREATE INDEX "alerts_of_mismatch" ON "alerts" USING btree ("mismatch_id","id") WHERE mismatch_id is not null;--> statement-breakpoint
CREATE INDEX "incidents_to_remind" ON "incidents" USING btree ("remind_at") WHERE remind_at is not null and reminded_at is null and ended_at is null;--> statement-breakpoint
CREATE INDEX "incidents_changed" ON "incidents" USING btree ("changed_in","id");--> statement-breakpoint
CREATE INDEX "mismatches_changed" ON "mismatches" USING btree ("changed_in","id");--> statement-breakpoint
CREATE INDEX "mismatches_owner" ON "mismatches" USING btree ("owner","id") WHERE owner is not null;--> statement-breakpoint
CREATE INDEX "mismatches_remind" ON "mismatches" USING btree ("status","remind_at","id") WHERE remind_at is not null;--> statement-breakpoint
CREATE INDEX "mismatches_to_remind" ON "mismatches" USING btree ("remind_at") WHERE remind_at is not null and reminded_at is null and status in ('open', 'acknowledged');