CREATE TABLE "installations" (
	"id" integer PRIMARY KEY NOT NULL,
	"installation_id" text NOT NULL,
	"written_at" timestamp (6) with time zone NOT NULL
);
