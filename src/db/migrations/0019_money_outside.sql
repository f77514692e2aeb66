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
ALTER TABLE "closed_bets" ADD COLUMN "ledger_moved" numeric;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "outside" numeric;--> statement-breakpoint
CREATE INDEX "callback_entries_rewarded" ON "callback_entries" USING btree ("product_id","username","occurred_at") WHERE callback in ('winRewards', 'placeTips', 'cancelTips');