ALTER TABLE "alert_channels" ADD COLUMN "kinds" text[];--> statement-breakpoint
ALTER TABLE "alerts" ADD COLUMN "mismatch_id" bigint;--> statement-breakpoint
ALTER TABLE "alerts" ADD COLUMN "endpoints" text[];--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "changed_in" "xid8";--> statement-breakpoint
ALTER TABLE "mismatches" ADD COLUMN "changed_in" "xid8";--> statement-breakpoint
CREATE INDEX "alerts_of_mismatch" ON "alerts" USING btree ("mismatch_id","id") WHERE mismatch_id is not null;--> statement-breakpoint
CREATE INDEX "incidents_changed" ON "incidents" USING btree ("changed_in","id");--> statement-breakpoint
CREATE INDEX "mismatches_changed" ON "mismatches" USING btree ("changed_in","id");