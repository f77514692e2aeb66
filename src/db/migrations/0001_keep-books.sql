CREATE TABLE "closed_parts" (
	"product_id" text PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"rows" jsonb,
	"gap" jsonb
);
--> statement-breakpoint
CREATE TABLE "confirmed_days" (
	"day" date NOT NULL,
	"product_id" text NOT NULL,
	"currency" text NOT NULL,
	"stake" numeric NOT NULL,
	"within_hour" numeric NOT NULL,
	"within_day" numeric NOT NULL,
	"within_week" numeric NOT NULL,
	CONSTRAINT "confirmed_days_day_product_id_currency_pk" PRIMARY KEY("day","product_id","currency")
);
--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "ledger_rewards" numeric;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "ledger_tips" numeric;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "confirmed" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "bet_id" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "transaction_id" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "provider_status" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "ledger_status" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "mismatch_id" bigint;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "verdict" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "corrected" boolean;--> statement-breakpoint
ALTER TABLE "corrections" ADD COLUMN "replaced" jsonb;