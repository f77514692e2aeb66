CREATE TABLE "closed_parts" (
	"product_id" text PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"rows" jsonb,
	"gap" jsonb
);
