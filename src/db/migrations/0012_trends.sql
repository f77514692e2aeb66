CREATE TABLE "trend_samples" (
	"product_id" text NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"lag_ms" bigint,
	"records" integer,
	"callbacks" integer,
	CONSTRAINT "trend_samples_product_id_at_pk" PRIMARY KEY("product_id","at")
);
--> statement-breakpoint
CREATE INDEX "trend_samples_at" ON "trend_samples" USING btree ("at");--> statement-breakpoint
CREATE INDEX "mismatches_over" ON "mismatches" USING btree ("resolved_at") WHERE resolved_at is not null;