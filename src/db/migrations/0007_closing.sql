CREATE TABLE "closed_bets" (
	"product_id" text NOT NULL,
	"username" text NOT NULL,
	"subject" text NOT NULL,
	"bet_ref" text NOT NULL,
	"day" date NOT NULL,
	"currency" text NOT NULL,
	"provider_bets" integer NOT NULL,
	"provider_stake" numeric NOT NULL,
	"provider_payout" numeric NOT NULL,
	"provider_net" numeric NOT NULL,
	"ledger_bets" integer,
	"ledger_stake" numeric,
	"ledger_payout" numeric,
	"ledger_net" numeric,
	"mismatches" numeric,
	"adjustments" numeric,
	"pending" numeric,
	"rounding" numeric,
	CONSTRAINT "closed_bets_product_id_username_subject_bet_ref_day_currency_pk" PRIMARY KEY("product_id","username","subject","bet_ref","day","currency")
);
--> statement-breakpoint
CREATE TABLE "closed_days" (
	"day" date PRIMARY KEY NOT NULL,
	"zone" text NOT NULL,
	"from_at" timestamp (6) with time zone NOT NULL,
	"to_at" timestamp (6) with time zone NOT NULL,
	"number" bigint NOT NULL,
	"closed_at" timestamp (6) with time zone NOT NULL,
	"hash" text NOT NULL,
	"previous_hash" text,
	"statement" jsonb NOT NULL,
	CONSTRAINT "closed_days_number_unique" UNIQUE("number"),
	CONSTRAINT "closed_days_hash_unique" UNIQUE("hash"),
	CONSTRAINT "closed_days_previous_hash_unique" UNIQUE("previous_hash")
);
--> statement-breakpoint
CREATE TABLE "closing_marks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "closing_marks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"product_id" text NOT NULL,
	"usernames" text[] NOT NULL,
	"round_ids" text[] NOT NULL,
	"bet_refs" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "closing_states" (
	"id" integer PRIMARY KEY NOT NULL,
	"since" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "corrections" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "corrections_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"day" date NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"correction" jsonb NOT NULL
);
--> statement-breakpoint
CREATE INDEX "corrections_day" ON "corrections" USING btree ("day");--> statement-breakpoint
CREATE INDEX "corrections_at" ON "corrections" USING btree ("at");--> statement-breakpoint
-- The marks that a comparison took, for the corrections of closed days. The triggers are disabled until the first day
-- is closed, so that they cost nothing where nobody closes days.
CREATE FUNCTION "note_compared_marks"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO closing_marks (product_id, usernames, round_ids, bet_refs)
  SELECT product_id, usernames, round_ids, bet_refs FROM gone;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "note_compared_marks" AFTER DELETE ON "diff_marks" REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION "note_compared_marks"();--> statement-breakpoint
ALTER TABLE "diff_marks" DISABLE TRIGGER "note_compared_marks";--> statement-breakpoint
-- Bets and rounds whose mismatch changed; where it names two players, both.
CREATE FUNCTION "note_changed_mismatches"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO closing_marks (product_id, usernames, round_ids, bet_refs)
  SELECT product_id, array_agg(named.username), array_agg(round_id), array_agg(named.ref)
  FROM changed CROSS JOIN LATERAL (
    VALUES (username, coalesce(transaction_id, bet_id)), (username, bet_id),
      (username, CASE WHEN subject LIKE 'bet:%' THEN substr(subject, 5) WHEN subject LIKE 'session:%' THEN subject END),
      (provider ->> 'username', bet_id)
  ) AS named (username, ref)
  WHERE named.username IS NOT NULL AND coalesce(named.ref, round_id) IS NOT NULL
  GROUP BY product_id;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "note_new_mismatches" AFTER INSERT ON "mismatches" REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION "note_changed_mismatches"();--> statement-breakpoint
CREATE TRIGGER "note_changed_mismatches" AFTER UPDATE ON "mismatches" REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION "note_changed_mismatches"();--> statement-breakpoint
ALTER TABLE "mismatches" DISABLE TRIGGER "note_new_mismatches";--> statement-breakpoint
ALTER TABLE "mismatches" DISABLE TRIGGER "note_changed_mismatches";
