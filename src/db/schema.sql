-- What the migrations make of an empty database. `npm run db:schema` writes this file; nothing runs it.

create table adjustments (
  id bigint generated always as identity not null,
  mismatch_id bigint not null,
  ref text not null,
  amount numeric not null,
  currency text not null,
  at timestamp(6) with time zone not null,
  by text not null,
  note text not null
);
alter table adjustments add constraint adjustments_pkey PRIMARY KEY (id);
alter table adjustments add constraint adjustments_ref_unique UNIQUE (ref);
CREATE INDEX adjustments_at ON public.adjustments USING btree (at);
CREATE INDEX adjustments_of ON public.adjustments USING btree (mismatch_id);

create table alert_channels (
  channel text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp(6) with time zone,
  failing_since timestamp(6) with time zone,
  last_error text,
  lease_token uuid,
  lease_until timestamp(6) with time zone,
  kinds text[]
);
alter table alert_channels add constraint alert_channels_pkey PRIMARY KEY (channel);

create table alert_conditions (
  kind text not null,
  subject text not null,
  product_id text,
  since timestamp(6) with time zone not null,
  what_when_over text not null,
  heads jsonb not null
);
alter table alert_conditions add constraint alert_conditions_kind_subject_pk PRIMARY KEY (kind, subject);

create table alert_deliveries (
  alert_id bigint not null,
  channel text not null,
  attempts integer not null,
  delivered_at timestamp(6) with time zone,
  next_attempt_at timestamp(6) with time zone,
  last_error text
);
alter table alert_deliveries add constraint alert_deliveries_alert_id_channel_pk PRIMARY KEY (alert_id, channel);

create table alerts (
  id bigint generated always as identity not null,
  idempotency_key text not null,
  kind text not null,
  product_id text,
  body jsonb not null,
  created_at timestamp(6) with time zone not null,
  delivered_at timestamp(6) with time zone,
  mismatch_id bigint,
  endpoints text[]
);
alter table alerts add constraint alerts_idempotency_key_unique UNIQUE (idempotency_key);
alter table alerts add constraint alerts_pkey PRIMARY KEY (id);
CREATE INDEX alerts_of_mismatch ON public.alerts USING btree (mismatch_id, id) WHERE (mismatch_id IS NOT NULL);
CREATE INDEX alerts_undelivered ON public.alerts USING btree (id) WHERE (delivered_at IS NULL);

create table audit_log (
  id bigint generated always as identity not null,
  at timestamp(6) with time zone not null,
  who text not null,
  role text not null,
  by text not null,
  address text not null,
  method text not null,
  route text not null,
  target text not null,
  details text,
  status integer
);
alter table audit_log add constraint audit_log_pkey PRIMARY KEY (id);
CREATE INDEX audit_log_at ON public.audit_log USING btree (at);

create table backfills (
  id bigint generated always as identity not null,
  product_id text not null,
  from_at timestamp(6) with time zone not null,
  to_at timestamp(6) with time zone not null,
  status text not null,
  requested_at timestamp(6) with time zone not null,
  started_at timestamp(6) with time zone,
  ended_at timestamp(6) with time zone
);
alter table backfills add constraint backfills_pkey PRIMARY KEY (id);

create table bet_record_versions (
  product_id text not null,
  username text not null,
  bet_id text not null,
  id text not null,
  round_id text not null,
  currency text not null,
  stake numeric not null,
  payout numeric not null,
  game_code text not null,
  game_name text not null,
  bet_status text not null,
  payout_status text not null,
  accounting_date timestamp(6) with time zone not null,
  updated_date timestamp(6) with time zone not null,
  extra jsonb,
  version_seen_at timestamp(6) with time zone not null,
  requested_at timestamp(6) with time zone not null,
  replaced_at timestamp(6) with time zone not null
);
CREATE INDEX bet_record_versions_key ON public.bet_record_versions USING btree (product_id, username, bet_id, id);
CREATE INDEX bet_record_versions_replaced ON public.bet_record_versions USING btree (replaced_at);

create table bet_records (
  product_id text not null,
  username text not null,
  bet_id text not null,
  id text not null,
  round_id text not null,
  currency text not null,
  stake numeric not null,
  payout numeric not null,
  game_code text not null,
  game_name text not null,
  bet_status text not null,
  payout_status text not null,
  accounting_date timestamp(6) with time zone not null,
  updated_date timestamp(6) with time zone not null,
  extra jsonb,
  version_seen_at timestamp(6) with time zone not null,
  requested_at timestamp(6) with time zone not null
);
alter table bet_records add constraint bet_records_product_id_bet_id_username_id_pk PRIMARY KEY (product_id, bet_id, username, id);
CREATE INDEX bet_records_accounted ON public.bet_records USING btree (product_id, accounting_date);
CREATE INDEX bet_records_id ON public.bet_records USING btree (product_id, id);
CREATE INDEX bet_records_round ON public.bet_records USING btree (product_id, username, round_id);

create table callback_bodies (
  id bigint generated always as identity not null,
  callback text not null,
  product_id text,
  request_id text,
  status_code integer not null,
  body text not null,
  received_at timestamp(6) with time zone not null
);
alter table callback_bodies add constraint callback_bodies_pkey PRIMARY KEY (id);
CREATE INDEX callback_bodies_received ON public.callback_bodies USING btree (received_at);

create table callback_entries (
  entry_id text not null,
  callback text not null,
  request_id text not null,
  product_id text not null,
  username text not null,
  currency text not null,
  txn_id text not null,
  round_id text,
  status text not null,
  bet_amount numeric,
  payout_amount numeric,
  transaction_type text,
  skip_balance_update boolean not null,
  moved numeric,
  balance_before numeric,
  balance_after numeric,
  occurred_at timestamp(6) with time zone not null,
  received_at timestamp(6) with time zone not null,
  appended_in xid8 default pg_current_xact_id() not null,
  single_state boolean,
  end_round boolean
);
alter table callback_entries add constraint callback_entries_pkey PRIMARY KEY (entry_id);
CREATE INDEX callback_entries_adjusted ON public.callback_entries USING btree (product_id, username, occurred_at) WHERE (callback = 'adjustBalance'::text);
CREATE INDEX callback_entries_occurred ON public.callback_entries USING btree (occurred_at);
CREATE INDEX callback_entries_received ON public.callback_entries USING btree (received_at);
CREATE INDEX callback_entries_rewarded ON public.callback_entries USING btree (product_id, username, occurred_at) WHERE (callback = ANY (ARRAY['winRewards'::text, 'placeTips'::text, 'cancelTips'::text]));
CREATE INDEX callback_entries_round ON public.callback_entries USING btree (product_id, username, round_id);
CREATE INDEX callback_entries_top_up ON public.callback_entries USING btree (product_id, appended_in) WHERE (callback = 'adjustBalance'::text);
CREATE INDEX callback_entries_txn ON public.callback_entries USING btree (product_id, txn_id, username);
CREATE TRIGGER recon_checked AFTER INSERT ON public.callback_entries FOR EACH ROW WHEN (false) EXECUTE FUNCTION recon_take_checked();
CREATE TRIGGER recon_deleted BEFORE DELETE ON public.callback_entries FOR EACH ROW WHEN (((COALESCE(current_setting('wallet_recon.entries'::text, true), ''::text) <> 'accounted'::text) OR (NOT has_table_privilege(('callback_entries'::regclass)::oid, 'TRIGGER WITH GRANT OPTION'::text)))) EXECUTE FUNCTION recon_take_change();
CREATE TRIGGER recon_emptied BEFORE TRUNCATE ON public.callback_entries FOR EACH STATEMENT EXECUTE FUNCTION recon_refuse_truncate();
alter table callback_entries enable always trigger recon_emptied;
CREATE TRIGGER recon_inserted AFTER INSERT ON public.callback_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT WHEN (((COALESCE(current_setting('wallet_recon.entries'::text, true), ''::text) <> 'accounted'::text) OR (NOT has_table_privilege(('callback_entries'::regclass)::oid, 'TRIGGER WITH GRANT OPTION'::text)))) EXECUTE FUNCTION recon_take_inserted();
CREATE TRIGGER recon_replicated AFTER INSERT ON public.callback_entries FOR EACH ROW WHEN ((current_setting('session_replication_role'::text) = 'replica'::text)) EXECUTE FUNCTION recon_take_replicated();
alter table callback_entries enable replica trigger recon_replicated;
CREATE TRIGGER recon_truncated BEFORE TRUNCATE ON public.callback_entries FOR EACH STATEMENT EXECUTE FUNCTION recon_refuse_truncate();
CREATE TRIGGER recon_updated BEFORE UPDATE ON public.callback_entries FOR EACH ROW WHEN ((new.* IS DISTINCT FROM old.*)) EXECUTE FUNCTION recon_take_change();
alter table callback_entries enable always trigger recon_updated;

create table callback_requests (
  product_id text not null,
  callback text not null,
  request_id text not null,
  digest text not null,
  balance_before numeric not null,
  balance_after numeric not null
);
alter table callback_requests add constraint callback_requests_product_id_callback_request_id_pk PRIMARY KEY (product_id, callback, request_id);

create table callback_signatures (
  signed_at timestamp(6) with time zone not null,
  signature text not null,
  callback text not null
);
alter table callback_signatures add constraint callback_signatures_signed_at_signature_pk PRIMARY KEY (signed_at, signature);

create table closed_bets (
  product_id text not null,
  username text not null,
  subject text not null,
  bet_ref text not null,
  day date not null,
  currency text not null,
  provider_bets integer not null,
  provider_stake numeric not null,
  provider_payout numeric not null,
  provider_net numeric not null,
  ledger_bets integer,
  ledger_stake numeric,
  ledger_payout numeric,
  ledger_net numeric,
  mismatches numeric,
  adjustments numeric,
  pending numeric,
  rounding numeric,
  ledger_moved numeric,
  outside numeric,
  ledger_rewards numeric,
  ledger_tips numeric,
  confirmed text,
  bet_id text,
  transaction_id text,
  provider_status text,
  ledger_status text,
  mismatch_id bigint,
  verdict text,
  corrected boolean
);
alter table closed_bets add constraint closed_bets_product_id_username_subject_bet_ref_day_currency_pk PRIMARY KEY (product_id, username, subject, bet_ref, day, currency);

create table closed_days (
  day date not null,
  zone text not null,
  from_at timestamp(6) with time zone not null,
  to_at timestamp(6) with time zone not null,
  number bigint not null,
  closed_at timestamp(6) with time zone not null,
  hash text not null,
  previous_hash text,
  statement jsonb not null
);
alter table closed_days add constraint closed_days_hash_unique UNIQUE (hash);
alter table closed_days add constraint closed_days_number_unique UNIQUE (number);
alter table closed_days add constraint closed_days_pkey PRIMARY KEY (day);
alter table closed_days add constraint closed_days_previous_hash_unique UNIQUE (previous_hash);

create table closed_parts (
  product_id text not null,
  day date not null,
  from_at timestamp(6) with time zone not null,
  to_at timestamp(6) with time zone not null,
  rows jsonb,
  gap jsonb
);
alter table closed_parts add constraint closed_parts_pkey PRIMARY KEY (product_id);

create table closing_marks (
  id bigint generated always as identity not null,
  product_id text not null,
  usernames text[] not null,
  round_ids text[] not null,
  bet_refs text[] not null
);
alter table closing_marks add constraint closing_marks_pkey PRIMARY KEY (id);

create table closing_states (
  id integer not null,
  since timestamp(6) with time zone default now() not null
);
alter table closing_states add constraint closing_states_pkey PRIMARY KEY (id);

create table comments (
  id bigint generated always as identity not null,
  about text not null,
  about_id bigint not null,
  at timestamp(6) with time zone not null,
  by text not null,
  note text not null
);
alter table comments add constraint comments_pkey PRIMARY KEY (id);
CREATE INDEX comments_of ON public.comments USING btree (about, about_id, id);

create table comparisons_set_aside (
  product_id text not null,
  username text not null,
  subject text not null,
  code text not null,
  reason text not null,
  since timestamp(6) with time zone not null,
  retry_at timestamp(6) with time zone not null
);
alter table comparisons_set_aside add constraint comparisons_set_aside_product_id_username_subject_pk PRIMARY KEY (product_id, username, subject);

create table confirmed_days (
  day date not null,
  product_id text not null,
  currency text not null,
  stake numeric not null,
  within_hour numeric not null,
  within_day numeric not null,
  within_week numeric not null
);
alter table confirmed_days add constraint confirmed_days_day_product_id_currency_pk PRIMARY KEY (day, product_id, currency);

create table corrections (
  id bigint generated always as identity not null,
  day date not null,
  at timestamp(6) with time zone not null,
  correction jsonb not null,
  replaced jsonb
);
alter table corrections add constraint corrections_pkey PRIMARY KEY (id);
CREATE INDEX corrections_at ON public.corrections USING btree (at);
CREATE INDEX corrections_day ON public.corrections USING btree (day);

create table deleted_bets (
  digest bigint not null,
  last_entry_at timestamp(6) with time zone not null
);
alter table deleted_bets add constraint deleted_bets_pkey PRIMARY KEY (digest);
CREATE INDEX deleted_bets_last ON public.deleted_bets USING btree (last_entry_at);

create table diff_marks (
  id bigint generated always as identity not null,
  product_id text not null,
  usernames text[] not null,
  round_ids text[] not null,
  bet_refs text[] not null,
  due_at timestamp(6) with time zone not null
);
alter table diff_marks add constraint diff_marks_pkey PRIMARY KEY (id);
CREATE INDEX diff_marks_due ON public.diff_marks USING btree (product_id, due_at);
CREATE TRIGGER note_compared_marks AFTER DELETE ON public.diff_marks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_compared_marks();
alter table diff_marks enable  trigger note_compared_marks;

create table entry_days (
  day date not null,
  entries bigint not null,
  digest bigint not null,
  compared_at timestamp(6) with time zone,
  uncounted boolean default false not null,
  unwatched_at timestamp(6) with time zone,
  gone_at timestamp(6) with time zone,
  accepted bigint,
  accepted_digest bigint,
  found bigint
);
alter table entry_days add constraint entry_days_pkey PRIMARY KEY (day);
CREATE INDEX entry_days_gone ON public.entry_days USING btree (day) WHERE (gone_at IS NOT NULL);

create table entry_notes (
  day date not null,
  added integer not null,
  digest bigint not null
);

create table entry_versions (
  id bigint generated always as identity not null,
  entry_id text not null,
  product_id text not null,
  username text not null,
  txn_id text not null,
  content jsonb not null,
  change text not null,
  changed_at timestamp(6) with time zone not null
);
alter table entry_versions add constraint entry_versions_pkey PRIMARY KEY (id);
CREATE INDEX entry_versions_bet ON public.entry_versions USING btree (product_id, txn_id, username);

create table fetched_times (
  product_id text not null,
  times tstzmultirange not null
);
alter table fetched_times add constraint fetched_times_pkey PRIMARY KEY (product_id);

create table idempotency_keys (
  id text not null,
  body_hash text not null,
  claim text not null,
  claimed_at timestamp(6) with time zone not null,
  status integer,
  answer text,
  location text
);
alter table idempotency_keys add constraint idempotency_keys_pkey PRIMARY KEY (id);
CREATE INDEX idempotency_keys_claimed ON public.idempotency_keys USING btree (claimed_at);

create table incident_members (
  mismatch_id bigint not null,
  incident_id bigint not null
);
alter table incident_members add constraint incident_members_pkey PRIMARY KEY (mismatch_id);
CREATE INDEX incident_members_of ON public.incident_members USING btree (incident_id);

create table incidents (
  id bigint generated always as identity not null,
  product_id text not null,
  kind text not null,
  backfill_id bigint not null,
  number integer not null,
  began_at timestamp(6) with time zone not null,
  last_at timestamp(6) with time zone not null,
  total integer not null,
  open integer not null,
  alerted_total integer not null,
  ended_at timestamp(6) with time zone,
  owner text,
  ticket text,
  with_provider timestamp(6) with time zone,
  remind_at timestamp(6) with time zone,
  reminded_at timestamp(6) with time zone,
  changed_in xid8
);
alter table incidents add constraint incidents_once UNIQUE (product_id, kind, backfill_id, number);
alter table incidents add constraint incidents_pkey PRIMARY KEY (id);
CREATE INDEX incidents_changed ON public.incidents USING btree (changed_in, id);
CREATE INDEX incidents_to_remind ON public.incidents USING btree (remind_at) WHERE ((remind_at IS NOT NULL) AND (reminded_at IS NULL) AND (ended_at IS NULL));

create table installations (
  id integer not null,
  installation_id text not null,
  written_at timestamp(6) with time zone not null
);
alter table installations add constraint installations_pkey PRIMARY KEY (id);

create table ledger_follows (
  relation text not null,
  read_until timestamp(6) with time zone,
  read_at timestamp(6) with time zone
);
alter table ledger_follows add constraint ledger_follows_pkey PRIMARY KEY (relation);

create table ledger_imports (
  id bigint generated always as identity not null,
  at timestamp(6) with time zone not null,
  ended_at timestamp(6) with time zone,
  who text not null,
  via text not null,
  format text not null,
  name text,
  bytes bigint,
  added bigint,
  known bigint,
  changed bigint,
  skipped bigint,
  rejected bigint,
  rejected_lines jsonb,
  error text
);
alter table ledger_imports add constraint ledger_imports_pkey PRIMARY KEY (id);
CREATE INDEX ledger_imports_at ON public.ledger_imports USING btree (at);

create table ledger_rereads (
  day timestamp(6) with time zone not null,
  asked_at timestamp(6) with time zone not null,
  begun_at timestamp(6) with time zone,
  read_at timestamp(6) with time zone,
  after_received_at timestamp(6) with time zone,
  after_entry_id text
);
alter table ledger_rereads add constraint ledger_rereads_pkey PRIMARY KEY (day);

create table ledger_settings (
  id integer not null,
  rows_change text not null
);
alter table ledger_settings add constraint ledger_settings_pkey PRIMARY KEY (id);

create table ledger_starts (
  product_id text not null,
  starts_at timestamp(6) with time zone not null
);
alter table ledger_starts add constraint ledger_starts_pkey PRIMARY KEY (product_id);

create table mismatch_events (
  id bigint generated always as identity not null,
  mismatch_id bigint not null,
  at timestamp(6) with time zone not null,
  from_status text,
  to_status text not null,
  by text not null,
  note text,
  amount_at_risk numeric not null,
  reason text not null,
  provider jsonb,
  ledger jsonb,
  step uuid,
  replaced jsonb
);
alter table mismatch_events add constraint mismatch_events_mismatch_id_mismatches_id_fk FOREIGN KEY (mismatch_id) REFERENCES mismatches(id);
alter table mismatch_events add constraint mismatch_events_pkey PRIMARY KEY (id);
CREATE INDEX mismatch_events_of ON public.mismatch_events USING btree (mismatch_id, id);
CREATE INDEX mismatch_events_step ON public.mismatch_events USING btree (step) WHERE (step IS NOT NULL);

create table mismatches (
  id bigint generated always as identity not null,
  product_id text not null,
  username text not null,
  subject text not null,
  kind text not null,
  status text not null,
  currency text,
  bet_id text,
  transaction_id text,
  round_id text,
  transaction_ref text,
  amount_at_risk numeric not null,
  reason text not null,
  provider jsonb,
  ledger jsonb,
  occurred_at timestamp(6) with time zone not null,
  first_seen_at timestamp(6) with time zone not null,
  last_seen_at timestamp(6) with time zone not null,
  resolved_at timestamp(6) with time zone,
  resolved_by text,
  note text,
  ceased_at timestamp(6) with time zone,
  effect numeric,
  owner text,
  ticket text,
  with_provider timestamp(6) with time zone,
  remind_at timestamp(6) with time zone,
  reminded_at timestamp(6) with time zone,
  changed_in xid8
);
alter table mismatches add constraint mismatches_identity UNIQUE (product_id, username, subject, kind);
alter table mismatches add constraint mismatches_pkey PRIMARY KEY (id);
CREATE INDEX mismatches_amount ON public.mismatches USING btree (status, amount_at_risk, id, currency);
CREATE INDEX mismatches_changed ON public.mismatches USING btree (changed_in, id);
CREATE INDEX mismatches_counted ON public.mismatches USING btree (status, product_id, kind);
CREATE INDEX mismatches_first_seen ON public.mismatches USING btree (status, first_seen_at, id);
CREATE INDEX mismatches_last_seen ON public.mismatches USING btree (last_seen_at);
CREATE INDEX mismatches_misnamed ON public.mismatches USING btree (product_id, ((provider ->> 'username'::text))) WHERE (kind = 'username-differs'::text);
CREATE INDEX mismatches_occurred ON public.mismatches USING btree (status, occurred_at, id);
CREATE INDEX mismatches_over ON public.mismatches USING btree (resolved_at) WHERE (resolved_at IS NOT NULL);
CREATE INDEX mismatches_owner ON public.mismatches USING btree (owner, id) WHERE (owner IS NOT NULL);
CREATE INDEX mismatches_player ON public.mismatches USING btree (username, id);
CREATE INDEX mismatches_remind ON public.mismatches USING btree (status, remind_at, id) WHERE (remind_at IS NOT NULL);
CREATE INDEX mismatches_status ON public.mismatches USING btree (status, id);
CREATE INDEX mismatches_to_remind ON public.mismatches USING btree (remind_at) WHERE ((remind_at IS NOT NULL) AND (reminded_at IS NULL) AND (status = ANY (ARRAY['open'::text, 'acknowledged'::text])));
CREATE INDEX mismatches_unsettled ON public.mismatches USING btree (product_id) WHERE ((status = ANY (ARRAY['open'::text, 'acknowledged'::text])) OR ((ceased_at IS NULL) AND (resolved_by <> 'recon'::text)));
CREATE TRIGGER note_changed_mismatches AFTER UPDATE ON public.mismatches REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed_mismatches();
alter table mismatches enable  trigger note_changed_mismatches;
CREATE TRIGGER note_new_mismatches AFTER INSERT ON public.mismatches REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed_mismatches();
alter table mismatches enable  trigger note_new_mismatches;

create table money_states (
  name text not null,
  measured_at timestamp(6) with time zone not null,
  took_ms bigint not null,
  settings text not null,
  content jsonb not null
);
alter table money_states add constraint money_states_pkey PRIMARY KEY (name);

create table moved_deleted (
  product_id text not null,
  currency text not null,
  moved numeric not null,
  unstated bigint not null
);

create table ops_sessions (
  id_hash text not null,
  name text not null,
  token_proof text not null,
  created_at timestamp(6) with time zone not null,
  expires_at timestamp(6) with time zone not null,
  ended_at timestamp(6) with time zone
);
alter table ops_sessions add constraint ops_sessions_pkey PRIMARY KEY (id_hash);
CREATE INDEX ops_sessions_expire ON public.ops_sessions USING btree (expires_at);

create table pull_states (
  product_id text not null,
  begin timestamp(6) with time zone not null,
  head timestamp(6) with time zone not null,
  window_ms integer not null,
  ceiling_ms integer,
  stopped_until timestamp(6) with time zone,
  hold_for integer default 1 not null,
  quick_answers integer default 0 not null,
  ms_per_hour double precision,
  steady_ms integer,
  failures integer default 0 not null,
  probe_at timestamp(6) with time zone,
  probe_ms integer,
  lost_turn boolean default false not null,
  last_count integer,
  same_counts integer default 0 not null,
  answer_limit integer
);
alter table pull_states add constraint pull_states_pkey PRIMARY KEY (product_id);

create table pull_turns (
  product_id text not null,
  lanes text not null,
  served_at timestamp(6) with time zone not null,
  leases integer default 0 not null
);
alter table pull_turns add constraint pull_turns_product_id_lanes_pk PRIMARY KEY (product_id, lanes);

create table record_absences (
  product_id text not null,
  username text not null,
  bet_id text not null,
  id text not null,
  missed_since timestamp(6) with time zone not null,
  elsewhere boolean default false not null,
  missed_at timestamp(6) with time zone,
  absent_since timestamp(6) with time zone,
  listed_from timestamp(6) with time zone,
  listed_to timestamp(6) with time zone
);
alter table record_absences add constraint record_absences_product_id_username_bet_id_id_pk PRIMARY KEY (product_id, username, bet_id, id);
CREATE INDEX record_absences_elsewhere ON public.record_absences USING btree (product_id, listed_to) WHERE elsewhere;

create table rejected_entries (
  id bigint generated always as identity not null,
  entry_digest text not null,
  entry_id text,
  product_id text,
  username text,
  txn_id text,
  round_id text,
  raw text not null,
  reason text not null,
  first_seen_at timestamp(6) with time zone not null,
  kind text default 'unusable'::text not null,
  reported_at timestamp(6) with time zone
);
alter table rejected_entries add constraint rejected_entries_entry_digest_unique UNIQUE (entry_digest);
alter table rejected_entries add constraint rejected_entries_pkey PRIMARY KEY (id);
CREATE INDEX rejected_entries_unreported ON public.rejected_entries USING btree (id) WHERE (reported_at IS NULL);
CREATE INDEX rejected_entries_username ON public.rejected_entries USING hash (username);

create table rejected_records (
  id bigint generated always as identity not null,
  product_id text not null,
  raw text not null,
  raw_digest text not null,
  reason text not null,
  first_seen_at timestamp(6) with time zone not null
);
alter table rejected_records add constraint rejected_records_once UNIQUE (product_id, raw_digest);
alter table rejected_records add constraint rejected_records_pkey PRIMARY KEY (id);
CREATE INDEX rejected_records_player ON public.rejected_records USING hash ("substring"(raw, '"username"\s*:\s*"((?:[^"\\]|\\.)*)"'::text));

create table request_budget (
  id integer not null,
  paused_until timestamp(6) with time zone not null,
  next_at timestamp(6) with time zone not null
);
alter table request_budget add constraint request_budget_pkey PRIMARY KEY (id);

create table request_pauses (
  product_id text not null,
  paused_until timestamp(6) with time zone not null
);
alter table request_pauses add constraint request_pauses_pkey PRIMARY KEY (product_id);

create table request_slots (
  slot integer not null,
  holder uuid not null,
  held_until timestamp(6) with time zone not null,
  owed_verify integer default 0 not null,
  owed_rest integer default 0 not null
);
alter table request_slots add constraint request_slots_pkey PRIMARY KEY (slot);

create table request_waiters (
  waiter uuid not null,
  urgency integer not null,
  seen_at timestamp(6) with time zone not null,
  since timestamp(6) with time zone default now() not null
);
alter table request_waiters add constraint request_waiters_pkey PRIMARY KEY (waiter);

create table resweep_states (
  product_id text not null,
  age_ms bigint not null,
  swept_until timestamp(6) with time zone not null
);
alter table resweep_states add constraint resweep_states_product_id_age_ms_pk PRIMARY KEY (product_id, age_ms);

create table retention_states (
  walk text not null,
  deleted_up_to timestamp(6) with time zone not null,
  began_at timestamp(6) with time zone,
  after text
);
alter table retention_states add constraint retention_states_pkey PRIMARY KEY (walk);

create table row_counts (
  table_name text not null,
  product_id text not null,
  rows bigint not null,
  counted_at timestamp(6) with time zone not null
);
alter table row_counts add constraint row_counts_table_name_product_id_pk PRIMARY KEY (table_name, product_id);

create table rows_added (
  table_name text not null,
  product_id text not null,
  added integer not null
);

create table storage_days (
  day date not null,
  measured_at timestamp(6) with time zone not null,
  bytes bigint not null
);
alter table storage_days add constraint storage_days_pkey PRIMARY KEY (day);

create table storage_states (
  id integer not null,
  measured_at timestamp(6) with time zone not null,
  bytes bigint not null,
  disk_bytes bigint
);
alter table storage_states add constraint storage_states_pkey PRIMARY KEY (id);

create table storage_tables (
  table_name text not null,
  bytes bigint not null,
  due bigint
);
alter table storage_tables add constraint storage_tables_pkey PRIMARY KEY (table_name);

create table top_up_answers (
  of_id bigint not null,
  attempt integer not null,
  asked_at timestamp(6) with time zone not null,
  took_ms integer not null,
  says text not null,
  code text,
  message text,
  raw text,
  status text not null,
  is_decisive boolean not null,
  next_verify_at timestamp(6) with time zone
);
alter table top_up_answers add constraint top_up_answers_of_id_attempt_pk PRIMARY KEY (of_id, attempt);

create table top_up_states (
  product_id text not null,
  picked_until xid8 not null
);
alter table top_up_states add constraint top_up_states_pkey PRIMARY KEY (product_id);

create table top_ups (
  transaction_ref text not null,
  id bigint generated always as identity not null,
  product_id text not null,
  username text not null,
  currency text not null,
  type text not null,
  amount numeric not null,
  status text default 'pending'::text not null,
  sent_at timestamp(6) with time zone not null,
  handed_at timestamp(6) with time zone not null,
  attempts integer default 0 not null,
  next_verify_at timestamp(6) with time zone,
  decided_at timestamp(6) with time zone,
  failed_since timestamp(6) with time zone,
  rejected_at timestamp(6) with time zone,
  mismatch_kind text,
  closed_by text,
  note text,
  lease_token uuid,
  lease_until timestamp(6) with time zone
);
alter table top_ups add constraint top_ups_transaction_ref_product_id_username_pk PRIMARY KEY (transaction_ref, product_id, username);
CREATE INDEX top_ups_due ON public.top_ups USING btree (next_verify_at) WHERE (next_verify_at IS NOT NULL);
CREATE INDEX top_ups_due_of ON public.top_ups USING btree (product_id, next_verify_at) WHERE (next_verify_at IS NOT NULL);
CREATE UNIQUE INDEX top_ups_id ON public.top_ups USING btree (id);
CREATE INDEX top_ups_player ON public.top_ups USING btree (username, id);
CREATE INDEX top_ups_status ON public.top_ups USING btree (status, id);

create table transfer_answers (
  of_id bigint not null,
  attempt integer not null,
  asked_at timestamp(6) with time zone not null,
  took_ms integer not null,
  says text not null,
  code text,
  message text,
  raw text,
  status text not null,
  is_decisive boolean not null,
  next_verify_at timestamp(6) with time zone
);
alter table transfer_answers add constraint transfer_answers_of_id_attempt_pk PRIMARY KEY (of_id, attempt);

create table transfers (
  transaction_ref text not null,
  product_id text not null,
  username text not null,
  currency text not null,
  type text not null,
  amount numeric not null,
  status text default 'pending'::text not null,
  sent_at timestamp(6) with time zone not null,
  id bigint generated always as identity not null,
  handed_at timestamp(6) with time zone not null,
  attempts integer default 0 not null,
  next_verify_at timestamp(6) with time zone,
  decided_at timestamp(6) with time zone,
  failed_since timestamp(6) with time zone,
  rejected_at timestamp(6) with time zone,
  mismatch_kind text,
  closed_by text,
  note text,
  lease_token uuid,
  lease_until timestamp(6) with time zone
);
alter table transfers add constraint transfers_pkey PRIMARY KEY (transaction_ref);
CREATE INDEX transfers_due ON public.transfers USING btree (next_verify_at) WHERE (next_verify_at IS NOT NULL);
CREATE INDEX transfers_due_of ON public.transfers USING btree (product_id, next_verify_at) WHERE (next_verify_at IS NOT NULL);
CREATE UNIQUE INDEX transfers_id ON public.transfers USING btree (id);
CREATE INDEX transfers_player ON public.transfers USING btree (username, id);
CREATE INDEX transfers_status ON public.transfers USING btree (status, id);

create table trend_samples (
  product_id text not null,
  at timestamp(6) with time zone not null,
  lag_ms bigint,
  records integer,
  callbacks integer
);
alter table trend_samples add constraint trend_samples_product_id_at_pk PRIMARY KEY (product_id, at);
CREATE INDEX trend_samples_at ON public.trend_samples USING btree (at);

create table wallet_bets (
  id bigint generated always as identity not null,
  product_id text not null,
  username text not null,
  txn_id text not null,
  currency text not null,
  round_id text,
  status text not null,
  stake numeric not null,
  debited numeric not null,
  was_debited boolean not null,
  settlement numeric not null,
  reward numeric not null,
  placed boolean not null,
  waiting boolean not null,
  tip boolean not null,
  reward_only boolean not null,
  end_round boolean not null,
  payout_returned boolean not null,
  said text[] not null
);
alter table wallet_bets add constraint wallet_bets_product_id_username_txn_id_pk PRIMARY KEY (product_id, username, txn_id);
CREATE INDEX wallet_bets_round ON public.wallet_bets USING btree (product_id, username, round_id) WHERE (round_id IS NOT NULL);

create table wallet_credits (
  ref text not null,
  username text not null,
  currency text not null,
  amount numeric not null,
  at timestamp(6) with time zone not null
);
alter table wallet_credits add constraint wallet_credits_pkey PRIMARY KEY (ref);

create table wallet_tombstones (
  product_id text not null,
  username text not null,
  kind text not null,
  ref text not null,
  at timestamp(6) with time zone not null
);
alter table wallet_tombstones add constraint wallet_tombstones_product_id_username_kind_ref_pk PRIMARY KEY (product_id, username, kind, ref);

create table wallets (
  username text not null,
  currency text not null,
  balance numeric not null,
  created_at timestamp(6) with time zone not null
);
alter table wallets add constraint wallets_username_currency_pk PRIMARY KEY (username, currency);

create table wide_rounds (
  product_id text not null,
  username text not null,
  round_id text not null,
  currency text,
  apart text[] not null,
  first_entry_at timestamp(6) with time zone,
  last_entry_at timestamp(6) with time zone,
  last_received_at timestamp(6) with time zone
);
alter table wide_rounds add constraint wide_rounds_product_id_username_round_id_pk PRIMARY KEY (product_id, username, round_id);

create table windows (
  id bigint generated always as identity not null,
  product_id text not null,
  kind text not null,
  from_at timestamp(6) with time zone not null,
  to_at timestamp(6) with time zone not null,
  status text default 'planned'::text not null,
  cursor text,
  cursor_at timestamp(6) with time zone,
  started_at timestamp(6) with time zone,
  fetched_at timestamp(6) with time zone,
  attempts integer default 0 not null,
  next_attempt_at timestamp(6) with time zone,
  error_code text,
  error_message text,
  lease_token uuid,
  lease_until timestamp(6) with time zone,
  pages integer default 0 not null,
  records integer default 0 not null,
  created integer default 0 not null,
  changed integer default 0 not null,
  unchanged integer default 0 not null,
  rejected integer default 0 not null,
  out_of_range integer default 0 not null,
  backfill_id bigint,
  resumed boolean default false not null,
  failures integer default 0 not null,
  timeouts integer default 0 not null,
  restarts integer default 0 not null,
  due_at timestamp(6) with time zone
);
alter table windows add constraint windows_backfill_id_backfills_id_fk FOREIGN KEY (backfill_id) REFERENCES backfills(id);
alter table windows add constraint windows_pkey PRIMARY KEY (id);
alter table windows add constraint windows_range CHECK ((from_at < to_at));
CREATE INDEX windows_backfill ON public.windows USING btree (backfill_id) WHERE (backfill_id IS NOT NULL);
CREATE INDEX windows_coverage ON public.windows USING btree (product_id, to_at) WHERE (status = 'done'::text);
CREATE INDEX windows_leased ON public.windows USING btree (product_id, kind) WHERE (lease_token IS NOT NULL);
CREATE INDEX windows_unfinished ON public.windows USING btree (product_id, kind, from_at) WHERE (status = ANY (ARRAY['planned'::text, 'gap'::text]));

create table work_states (
  work text not null,
  subject text not null,
  since timestamp(6) with time zone,
  done_at timestamp(6) with time zone,
  up_to timestamp(6) with time zone,
  failing_since timestamp(6) with time zone,
  failures integer default 0 not null,
  failed_at timestamp(6) with time zone,
  error_code text,
  error text,
  every_ms bigint
);
alter table work_states add constraint work_states_work_subject_pk PRIMARY KEY (work, subject);

CREATE OR REPLACE FUNCTION public.note_changed_mismatches()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_relid <> 'public.mismatches'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  insert into public.closing_marks (product_id, usernames, round_ids, bet_refs)
  select product_id, array_agg(named.username), array_agg(round_id), array_agg(named.ref)
  from changed cross join lateral (
    values (username, coalesce(transaction_id, bet_id)), (username, bet_id),
      (username, case when subject like 'bet:%' then substr(subject, 5) when subject like 'session:%' then subject end),
      (provider ->> 'username', bet_id)
  ) as named (username, ref)
  where named.username is not null and coalesce(named.ref, round_id) is not null
  group by product_id;
  return null;
end
$function$;
revoke execute on function note_changed_mismatches() from public;

CREATE OR REPLACE FUNCTION public.note_compared_marks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_relid <> 'public.diff_marks'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  insert into public.closing_marks (product_id, usernames, round_ids, bet_refs)
  select product_id, usernames, round_ids, bet_refs from gone;
  return null;
end
$function$;
revoke execute on function note_compared_marks() from public;

CREATE OR REPLACE FUNCTION public.recon_content(e callback_entries)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
  select to_jsonb(e) - 'appended_in'
$function$;
revoke execute on function recon_content(e callback_entries) from public;

CREATE OR REPLACE FUNCTION public.recon_describe_fault(fault text, content jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select format(case
      when fault = 'callback' then 'callback is "%s", which is none of placeBets, settleBets, cancelBets, voidSettled, winRewards, adjustBets, rollback, placeTips, cancelTips, adjustBalance'
      when fault = 'transaction_type' then 'transaction_type is "%s", which is none of BY_TRANSACTION, BY_ROUND'
      when fault in ('entry_id', 'product_id', 'username', 'txn_id', 'round_id') then fault || ' is longer than 600 bytes: "%s"'
      when fault = 'received_at' then 'received_at is %s, which lies before 2010 or after 9999'
      when fault = 'occurred_at' then 'occurred_at is %s, which lies before 2010: is its unit right (milliseconds, seconds)?'
      when fault = 'occurred_at ahead' then 'occurred_at is %s, more than a day after received_at, which is ' || (content ->> 'received_at')
      else fault || ' is %s, which is no decimal of at most 60 digits on either side of the point'
    end, left(content ->> split_part(fault, ' ', 1), 80))
$function$;
revoke execute on function recon_describe_fault(fault text, content jsonb) from public;

CREATE OR REPLACE FUNCTION public.recon_entry_fault(entry_id text, callback text, product_id text, username text, txn_id text, round_id text, bet_amount numeric, payout_amount numeric, moved numeric, balance_before numeric, balance_after numeric, occurred_at timestamp with time zone, received_at timestamp with time zone, transaction_type text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case
      when callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets',
        'rollback', 'placeTips', 'cancelTips', 'adjustBalance') then 'callback'
      when transaction_type not in ('BY_TRANSACTION', 'BY_ROUND') then 'transaction_type'
      when octet_length(entry_id) > 600 then 'entry_id'
      when octet_length(product_id) > 600 then 'product_id'
      when octet_length(username) > 600 then 'username'
      when octet_length(txn_id) > 600 then 'txn_id'
      when octet_length(round_id) > 600 then 'round_id'
      when bet_amount not between -1e61 and 1e61 or scale(bet_amount) > 60 and min_scale(bet_amount) > 60 then 'bet_amount'
      when payout_amount not between -1e61 and 1e61 or scale(payout_amount) > 60 and min_scale(payout_amount) > 60 then 'payout_amount'
      when moved not between -1e61 and 1e61 or scale(moved) > 60 and min_scale(moved) > 60 then 'moved'
      when balance_before not between -1e61 and 1e61 or scale(balance_before) > 60 and min_scale(balance_before) > 60 then 'balance_before'
      when balance_after not between -1e61 and 1e61 or scale(balance_after) > 60 and min_scale(balance_after) > 60 then 'balance_after'
      when received_at not between '2010-01-01T00:00:00Z' and '9999-12-31T00:00:00Z' then 'received_at'
      when occurred_at < '2010-01-01T00:00:00Z' then 'occurred_at'
      when occurred_at > received_at + interval '24 hours' then 'occurred_at ahead'
    end;
end
$function$;
revoke execute on function recon_entry_fault(entry_id text, callback text, product_id text, username text, txn_id text, round_id text, bet_amount numeric, payout_amount numeric, moved numeric, balance_before numeric, balance_after numeric, occurred_at timestamp with time zone, received_at timestamp with time zone, transaction_type text) from public;

CREATE OR REPLACE FUNCTION public.recon_mark_entries()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  e public.callback_entries;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('callback_entries', 2)) then return false; end if;
  delete from public.top_up_states;
  delete from public.row_counts where table_name = 'callback_entries';
  update public.callback_entries
  set callback = public.recon_spelling(callback), transaction_type = public.recon_spelling(transaction_type)
  where callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets', 'rollback',
    'placeTips', 'cancelTips', 'adjustBalance') or transaction_type not in ('BY_TRANSACTION', 'BY_ROUND');
  perform set_config('wallet_recon.entries', 'accounted', true);
  for e in
    delete from public.callback_entries c where public.recon_entry_fault(
      c.entry_id, c.callback, c.product_id, c.username, c.txn_id, c.round_id, c.bet_amount, c.payout_amount,
      c.moved, c.balance_before, c.balance_after, c.occurred_at, c.received_at, c.transaction_type) is not null
    returning *
  loop
    perform public.recon_reject_entry(e, 'unusable'::text, public.recon_describe_fault(public.recon_entry_fault(
      e.entry_id, e.callback, e.product_id, e.username, e.txn_id, e.round_id, e.bet_amount, e.payout_amount,
      e.moved, e.balance_before, e.balance_after, e.occurred_at, e.received_at, e.transaction_type),
      public.recon_content(e)));
  end loop;
  perform set_config('wallet_recon.entries', '', true);
  insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), least(max(received_at), now())
  from (
    select *, (row_number() over (partition by product_id order by received_at) - 1) / 500 as part
    from (
      select product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id as bet_ref,
        max(received_at) as received_at
      from public.callback_entries group by 1, 2, 3, 4
    ) touched
  ) numbered
  group by product_id, part;
  alter table public.callback_entries enable trigger recon_truncated;
  return true;
end
$function$;
revoke execute on function recon_mark_entries() from public;

CREATE OR REPLACE FUNCTION public.recon_mark_entry(e callback_entries, change integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (e.product_id, array[e.username], array[nullif(nullif(e.round_id, ''), 'UNKNOWN')], array[e.txn_id],
    least(e.received_at, now()));
  insert into public.entry_notes (day, added, digest)
  values ((e.occurred_at at time zone 'UTC')::date, change,
    hashtextextended(e.entry_id, hashtextextended(e.txn_id, coalesce(hash_numeric_extended(e.moved, 0), 1)
      # coalesce(hash_numeric_extended(e.bet_amount, 2), 3) # coalesce(hash_numeric_extended(e.payout_amount, 4), 5))));
end
$function$;
revoke execute on function recon_mark_entry(e callback_entries, change integer) from public;

CREATE OR REPLACE FUNCTION public.recon_recount_entries()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with recursive days (day) as (
    select (min(occurred_at) at time zone 'UTC')::date from public.callback_entries
    union all
    select (
      select (min(occurred_at) at time zone 'UTC')::date from public.callback_entries
      where occurred_at >= (d.day + 1)::timestamp at time zone 'UTC')
    from days d where d.day is not null
  ),
  noted as (select day, sum(added) as entries from public.entry_notes group by day)
  insert into public.entry_days as d (day, entries, digest, uncounted)
  select k.day, 0, 0, coalesce(n.entries, 0) <= 0 or not exists (select from public.entry_days)
  from (select day from days where day is not null union select day from public.entry_days) k left join noted n on n.day = k.day
  order by k.day
  on conflict (day) do update set compared_at = null,
    uncounted = d.gone_at is null and (d.uncounted or d.entries <= 0 and excluded.uncounted)
$function$;
revoke execute on function recon_recount_entries() from public;

CREATE OR REPLACE FUNCTION public.recon_refuse_truncate()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  raise exception 'callback_entries is a ledger and cannot be truncated'
    using hint = 'Delete rows instead: with ledger.rowsChange "replace" their history is kept, and what they touch is compared again.';
end
$function$;
revoke execute on function recon_refuse_truncate() from public;

CREATE OR REPLACE FUNCTION public.recon_reject_entry(e callback_entries, rejected_as text, why text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  content text := public.recon_content(e)::text;
  is_new boolean;
begin
  insert into public.rejected_entries as r
    (entry_digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
  values (md5(case rejected_as when 'changed' then 'changed ' || why || content else coalesce(e.entry_id, content) end),
    rejected_as, e.entry_id, e.product_id, e.username, e.txn_id, e.round_id, content, why, now())
  on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason, product_id = excluded.product_id,
    username = excluded.username, txn_id = excluded.txn_id, round_id = excluded.round_id, reported_at = null
    where r.raw <> excluded.raw
  returning xmax = 0 into is_new;
  if found then raise notice 'callback_entries: a row is kept in rejected_entries: %', why; end if;
  return coalesce(is_new, false);
end
$function$;
revoke execute on function recon_reject_entry(e callback_entries, rejected_as text, why text) from public;

CREATE OR REPLACE FUNCTION public.recon_spelling(word text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case lower(word)
    when 'placebets' then 'placeBets' when 'settlebets' then 'settleBets' when 'cancelbets' then 'cancelBets'
    when 'voidsettled' then 'voidSettled' when 'winrewards' then 'winRewards' when 'adjustbets' then 'adjustBets'
    when 'rollback' then 'rollback' when 'placetips' then 'placeTips' when 'canceltips' then 'cancelTips'
    when 'adjustbalance' then 'adjustBalance' when 'by_transaction' then 'BY_TRANSACTION' when 'by_bet' then 'BY_TRANSACTION'
    when 'by_round' then 'BY_ROUND' else word
  end;
end
$function$;
revoke execute on function recon_spelling(word text) from public;

CREATE OR REPLACE FUNCTION public.recon_take_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  may_change boolean;
  fault text;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  if tg_op = 'UPDATE' then
    new.callback := public.recon_spelling(new.callback);
    new.transaction_type := public.recon_spelling(new.transaction_type);
    old.callback := public.recon_spelling(old.callback);
    old.transaction_type := public.recon_spelling(old.transaction_type);
  end if;
  -- Who wrote a row is nothing that it says.
  if tg_op = 'UPDATE' and public.recon_content(new) = public.recon_content(old) then
    new.appended_in := pg_current_xact_id();
    return new;
  end if;
  may_change := exists (select from public.ledger_settings where rows_change = 'replace');
  fault := case when tg_op = 'UPDATE' then public.recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount, new.payout_amount,
    new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at, new.transaction_type) end;
  if fault is not null then
    perform public.recon_reject_entry(new, 'changed'::text, format('entry "%s" was changed to what cannot be used; its first content stays: %s',
      old.entry_id, public.recon_describe_fault(fault, public.recon_content(new))));
    return null;
  end if;
  if not may_change then
    if tg_op = 'DELETE' then
      perform public.recon_reject_entry(old, 'changed'::text,
        format('entry "%s" was deleted; it stays, because ledger.rowsChange is "never"', old.entry_id));
    else
      perform public.recon_reject_entry(new, 'changed'::text, format(
        'entry "%s" was changed (%s); its first content stays, because ledger.rowsChange is "never"', old.entry_id,
        (select string_agg(format('%s from %s to %s', b.key, b.value, a.value), ', ' order by b.key)
          from jsonb_each(public.recon_content(old)) b join jsonb_each(public.recon_content(new)) a using (key)
          where a.value <> b.value)));
    end if;
    return null;
  end if;
  insert into public.entry_versions (entry_id, product_id, username, txn_id, content, change, changed_at)
  values (old.entry_id, old.product_id, old.username, old.txn_id, public.recon_content(old),
    case tg_op when 'DELETE' then 'deleted' else 'replaced' end, now());
  perform public.recon_mark_entry(old, -1);
  if tg_op = 'DELETE' then return old; end if;
  perform public.recon_mark_entry(new, 1);
  return new;
end
$function$;
revoke execute on function recon_take_change() from public;

CREATE OR REPLACE FUNCTION public.recon_take_checked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  return null;
end
$function$;
revoke execute on function recon_take_checked() from public;

CREATE OR REPLACE FUNCTION public.recon_take_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  total integer;
  unusable integer;
  foreign_top_ups integer;
  product text;
  player text;
  round text;
  bet text;
  received timestamptz;
  first_day date;
  last_day date;
  digests bigint;
  e public.callback_entries;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  select count(*), min(product_id collate "C"), min(username collate "C"),
    nullif(nullif(min(round_id collate "C"), ''), 'UNKNOWN'), min(txn_id collate "C"), max(received_at),
    count(case
      when callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets',
        'rollback', 'placeTips', 'cancelTips', 'adjustBalance') then 'callback'
      when transaction_type not in ('BY_TRANSACTION', 'BY_ROUND') then 'transaction_type'
      when octet_length(entry_id) > 600 then 'entry_id'
      when octet_length(product_id) > 600 then 'product_id'
      when octet_length(username) > 600 then 'username'
      when octet_length(txn_id) > 600 then 'txn_id'
      when octet_length(round_id) > 600 then 'round_id'
      when bet_amount not between -1e61 and 1e61 or scale(bet_amount) > 60 and min_scale(bet_amount) > 60 then 'bet_amount'
      when payout_amount not between -1e61 and 1e61 or scale(payout_amount) > 60 and min_scale(payout_amount) > 60 then 'payout_amount'
      when moved not between -1e61 and 1e61 or scale(moved) > 60 and min_scale(moved) > 60 then 'moved'
      when balance_before not between -1e61 and 1e61 or scale(balance_before) > 60 and min_scale(balance_before) > 60 then 'balance_before'
      when balance_after not between -1e61 and 1e61 or scale(balance_after) > 60 and min_scale(balance_after) > 60 then 'balance_after'
      when received_at not between '2010-01-01T00:00:00Z' and '9999-12-31T00:00:00Z' then 'received_at'
      when occurred_at < '2010-01-01T00:00:00Z' then 'occurred_at'
      when occurred_at > received_at + interval '24 hours' then 'occurred_at ahead'
    end),
    count(*) filter (where callback = 'adjustBalance' and appended_in <> pg_current_xact_id()),
    (min(occurred_at) at time zone 'UTC')::date, (max(occurred_at) at time zone 'UTC')::date,
    bit_xor(hashtextextended(entry_id, hashtextextended(txn_id, coalesce(hash_numeric_extended(moved, 0), 1)
      # coalesce(hash_numeric_extended(bet_amount, 2), 3) # coalesce(hash_numeric_extended(payout_amount, 4), 5))))
  into total, product, player, round, bet, received, unusable, foreign_top_ups, first_day, last_day, digests
  from inserted;
  -- Top-ups are found by the transaction that wrote them, and a copy of the table brings those of another time along.
  if foreign_top_ups > 0 then
    update public.callback_entries set appended_in = pg_current_xact_id() where entry_id in (
      select i.entry_id from inserted i where i.callback = 'adjustBalance' and i.appended_in <> pg_current_xact_id());
  end if;
  if unusable > 0 then
    -- Some may only be spelled otherwise ("by_round"); recon_take_change lets this update pass.
    update public.callback_entries c
    set callback = public.recon_spelling(c.callback), transaction_type = public.recon_spelling(c.transaction_type)
    where c.entry_id in (select i.entry_id from inserted i where i.callback <> public.recon_spelling(i.callback)
      or i.transaction_type <> public.recon_spelling(i.transaction_type));
    perform set_config('wallet_recon.entries', 'accounted', true);
    for e in
      delete from public.callback_entries c where c.entry_id in (select i.entry_id from inserted i)
        and public.recon_entry_fault(
          c.entry_id, c.callback, c.product_id, c.username, c.txn_id, c.round_id, c.bet_amount, c.payout_amount,
          c.moved, c.balance_before, c.balance_after, c.occurred_at, c.received_at, c.transaction_type) is not null
      returning *
    loop
      perform public.recon_reject_entry(e, 'unusable'::text, public.recon_describe_fault(public.recon_entry_fault(
        e.entry_id, e.callback, e.product_id, e.username, e.txn_id, e.round_id, e.bet_amount, e.payout_amount,
        e.moved, e.balance_before, e.balance_after, e.occurred_at, e.received_at, e.transaction_type),
        public.recon_content(e)));
    end loop;
    perform set_config('wallet_recon.entries', '', true);
  end if;
  if total > 1 then
    insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), least(max(received_at), now())
    from (
      select product_id, username, round_id, bet_ref, max(received_at) as received_at,
        (row_number() over () - 1) / 30 as part
      from (
        select product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id as bet_ref, received_at
        from inserted
      ) entries
      group by product_id, username, round_id, bet_ref
    ) touched
    group by product_id, part;
  elsif total = 1 then
    insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values (product, array[player], array[round], array[bet], least(received, now()));
  end if;
  if unusable = 0 and first_day = last_day then
    insert into public.entry_notes (day, added, digest) values (first_day, total, digests);
  else
    insert into public.entry_notes (day, added, digest)
    select (i.occurred_at at time zone 'UTC')::date, count(*),
      bit_xor(hashtextextended(i.entry_id, hashtextextended(i.txn_id, coalesce(hash_numeric_extended(i.moved, 0), 1)
        # coalesce(hash_numeric_extended(i.bet_amount, 2), 3) # coalesce(hash_numeric_extended(i.payout_amount, 4), 5))))
    from inserted i
    where unusable = 0 or exists (select from public.callback_entries c where c.entry_id = i.entry_id)
    group by 1;
  end if;
  return null;
end
$function$;
revoke execute on function recon_take_inserted() from public;

CREATE OR REPLACE FUNCTION public.recon_take_replicated()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  fault text;
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  if new.callback <> public.recon_spelling(new.callback) or new.transaction_type <> public.recon_spelling(new.transaction_type) then
    new.callback := public.recon_spelling(new.callback);
    new.transaction_type := public.recon_spelling(new.transaction_type);
    update public.callback_entries set callback = new.callback, transaction_type = new.transaction_type
    where entry_id = new.entry_id;
  end if;
  fault := public.recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount, new.payout_amount,
    new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at, new.transaction_type);
  if fault is null then
    perform public.recon_mark_entry(new, 1);
    if new.callback = 'adjustBalance' then
      update public.callback_entries set appended_in = pg_current_xact_id() where entry_id = new.entry_id;
    end if;
  else
    perform set_config('wallet_recon.entries', 'accounted', true);
    delete from public.callback_entries where entry_id = new.entry_id;
    perform set_config('wallet_recon.entries', '', true);
    perform public.recon_reject_entry(new, 'unusable'::text, public.recon_describe_fault(fault, public.recon_content(new)));
  end if;
  return null;
end
$function$;
revoke execute on function recon_take_replicated() from public;

CREATE OR REPLACE FUNCTION public.recon_watch_entries()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  alter table public.callback_entries enable trigger recon_checked;
  alter table public.callback_entries enable trigger recon_inserted;
  alter table public.callback_entries enable replica trigger recon_replicated;
  alter table public.callback_entries enable always trigger recon_updated;
  alter table public.callback_entries enable trigger recon_deleted;
  alter table public.callback_entries enable always trigger recon_emptied;
  alter table public.callback_entries enable always trigger recon_truncated;
  perform public.recon_recount_entries();
  update public.entry_days set unwatched_at = now() where not uncounted;
end
$function$;
revoke execute on function recon_watch_entries() from public;
