ALTER TABLE "closed_bets" ADD COLUMN "bet_id" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "transaction_id" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "provider_status" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "ledger_status" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "mismatch_id" bigint;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "verdict" text;--> statement-breakpoint
ALTER TABLE "closed_bets" ADD COLUMN "corrected" boolean;--> statement-breakpoint
ALTER TABLE "corrections" ADD COLUMN "replaced" jsonb;