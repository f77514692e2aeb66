CREATE TABLE "comparisons_set_aside" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"subject" text NOT NULL,
	"code" text NOT NULL,
	"reason" text NOT NULL,
	"since" timestamp (6) with time zone NOT NULL,
	"retry_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "comparisons_set_aside_product_id_username_subject_pk" PRIMARY KEY("product_id","username","subject")
);
--> statement-breakpoint
CREATE TABLE "work_states" (
	"work" text NOT NULL,
	"subject" text NOT NULL,
	"since" timestamp (6) with time zone,
	"done_at" timestamp (6) with time zone,
	"up_to" timestamp (6) with time zone,
	"failing_since" timestamp (6) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"failed_at" timestamp (6) with time zone,
	"error_code" text,
	"error" text,
	"every_ms" bigint,
	CONSTRAINT "work_states_work_subject_pk" PRIMARY KEY("work","subject")
);
--> statement-breakpoint
CREATE INDEX "top_ups_due_of" ON "top_ups" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;--> statement-breakpoint
CREATE INDEX "transfers_due_of" ON "transfers" USING btree ("product_id","next_verify_at") WHERE next_verify_at is not null;