ALTER TABLE "pull_turns" ADD COLUMN "leases" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "request_slots" ADD COLUMN "owed_verify" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "request_slots" ADD COLUMN "owed_rest" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "request_waiters" ADD COLUMN "since" timestamp (6) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "due_at" timestamp (6) with time zone;