CREATE TABLE "callback_signatures" (
	"signed_at" timestamp (6) with time zone NOT NULL,
	"signature" text NOT NULL,
	"callback" text NOT NULL,
	CONSTRAINT "callback_signatures_signed_at_signature_pk" PRIMARY KEY("signed_at","signature")
);
