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
CREATE INDEX "idempotency_keys_claimed" ON "idempotency_keys" USING btree ("claimed_at");