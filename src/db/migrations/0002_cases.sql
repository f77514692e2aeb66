ALTER TABLE "incidents" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "ticket" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "with_provider" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "remind_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "reminded_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "ticket" text;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "with_provider" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "remind_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "reminded_at" timestamp (6) with time zone;--> statement-breakpoint
CREATE INDEX "incidents_to_remind" ON "incidents" USING btree ("remind_at") WHERE remind_at is not null and reminded_at is null and ended_at is null;--> statement-breakpoint
CREATE INDEX "mismatches_owner" ON "mismatches" USING btree ("owner","id") WHERE owner is not null;--> statement-breakpoint
CREATE INDEX "mismatches_remind" ON "mismatches" USING btree ("status","remind_at","id") WHERE remind_at is not null;--> statement-breakpoint
CREATE INDEX "mismatches_to_remind" ON "mismatches" USING btree ("remind_at") WHERE remind_at is not null and reminded_at is null and status in ('open', 'acknowledged');