ALTER TABLE "pull_states" ADD COLUMN "steady_ms" integer;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "probe_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "probe_ms" integer;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "lost_turn" boolean DEFAULT false NOT NULL;