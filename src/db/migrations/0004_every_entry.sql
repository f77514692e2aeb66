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
ALTER TABLE "callback_entries" ADD COLUMN "single_state" boolean;--> statement-breakpoint
ALTER TABLE "callback_entries" ADD COLUMN "end_round" boolean;--> statement-breakpoint
ALTER TABLE "record_absences" ADD COLUMN "missed_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "record_absences" ADD COLUMN "absent_since" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "record_absences" ADD COLUMN "listed_from" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "record_absences" ADD COLUMN "listed_to" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "rejected_entries" ADD COLUMN "kind" text DEFAULT 'unusable' NOT NULL;--> statement-breakpoint
ALTER TABLE "rejected_entries" ADD COLUMN "reported_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "resumed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "entry_versions_bet" ON "entry_versions" USING btree ("product_id","txn_id","username");--> statement-breakpoint
CREATE INDEX "record_absences_elsewhere" ON "record_absences" USING btree ("product_id","listed_to") WHERE elsewhere;--> statement-breakpoint
CREATE INDEX "rejected_entries_unreported" ON "rejected_entries" USING btree ("id") WHERE reported_at is null;