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
CREATE TABLE "wide_rounds" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"round_id" text NOT NULL,
	"currency" text,
	"apart" text[] NOT NULL,
	"first_entry_at" timestamp (6) with time zone,
	"last_entry_at" timestamp (6) with time zone,
	"last_received_at" timestamp (6) with time zone,
	CONSTRAINT "wide_rounds_product_id_username_round_id_pk" PRIMARY KEY("product_id","username","round_id")
);
