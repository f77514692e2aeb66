CREATE TABLE "fetched_times" (
	"product_id" text PRIMARY KEY NOT NULL,
	"times" "tstzmultirange" NOT NULL
);
--> statement-breakpoint
-- Windows that were deleted before: live pulling has fetched all time from its beginning to its head, except for windows that
-- are not done. What only backfills had fetched, before that beginning, is not known.
INSERT INTO "fetched_times" ("product_id", "times")
SELECT s.product_id, tstzmultirange(tstzrange(greatest(s.begin, r.began_at), least(s.head, r.deleted_up_to)))
  - coalesce((
    SELECT range_agg(tstzrange(w.from_at, w.to_at)) FROM windows w
    WHERE w.product_id = s.product_id AND w.kind IN ('live', 'lost') AND w.status IN ('planned', 'gap')), '{}')
FROM pull_states s CROSS JOIN retention_states r
WHERE r.walk = 'windows' AND greatest(s.begin, r.began_at) < least(s.head, r.deleted_up_to);
