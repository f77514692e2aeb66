CREATE TABLE "ledger_imports" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger_imports_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (6) with time zone NOT NULL,
	"ended_at" timestamp (6) with time zone,
	"who" text NOT NULL,
	"via" text NOT NULL,
	"format" text NOT NULL,
	"name" text,
	"bytes" bigint,
	"added" bigint,
	"known" bigint,
	"changed" bigint,
	"skipped" bigint,
	"rejected" bigint,
	"rejected_lines" jsonb,
	"error" text
);
--> statement-breakpoint
CREATE INDEX "ledger_imports_at" ON "ledger_imports" USING btree ("at");