CREATE TABLE "row_counts" (
	"table_name" text NOT NULL,
	"product_id" text NOT NULL,
	"rows" bigint NOT NULL,
	"counted_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "row_counts_table_name_product_id_pk" PRIMARY KEY("table_name","product_id")
);
--> statement-breakpoint
CREATE TABLE "rows_added" (
	"table_name" text NOT NULL,
	"product_id" text NOT NULL,
	"added" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "mismatches_unsettled" ON "mismatches" USING btree ("product_id") WHERE status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon');--> statement-breakpoint
CREATE INDEX "mismatches_misnamed" ON "mismatches" USING btree ("product_id",(provider ->> 'username')) WHERE kind = 'username-differs';--> statement-breakpoint
CREATE INDEX "mismatches_last_seen" ON "mismatches" USING btree ("last_seen_at");--> statement-breakpoint
CREATE INDEX "mismatches_counted" ON "mismatches" USING btree ("status","product_id","kind");--> statement-breakpoint
CREATE INDEX "callback_entries_adjusted" ON "callback_entries" USING btree ("product_id","username","occurred_at") WHERE callback = 'adjustBalance';