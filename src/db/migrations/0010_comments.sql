CREATE TABLE "comments" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "comments_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"about" text NOT NULL,
	"about_id" bigint NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"by" text NOT NULL,
	"note" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "comments_of" ON "comments" USING btree ("about","about_id","id");