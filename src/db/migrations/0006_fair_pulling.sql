CREATE TABLE "pull_turns" (
	"product_id" text NOT NULL,
	"lanes" text NOT NULL,
	"served_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "pull_turns_product_id_lanes_pk" PRIMARY KEY("product_id","lanes")
);
--> statement-breakpoint
CREATE TABLE "request_pauses" (
	"product_id" text PRIMARY KEY NOT NULL,
	"paused_until" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "timeouts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "windows" ADD COLUMN "restarts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "windows_leased" ON "windows" USING btree ("product_id","kind") WHERE lease_token is not null;