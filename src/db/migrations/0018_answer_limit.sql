ALTER TABLE "pull_states" ADD COLUMN "last_count" integer;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "same_counts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pull_states" ADD COLUMN "answer_limit" integer;