CREATE TABLE "entry_days" (
	"day" date PRIMARY KEY NOT NULL,
	"entries" bigint NOT NULL,
	"digest" bigint NOT NULL,
	"compared_at" timestamp (6) with time zone,
	"uncounted" boolean DEFAULT false NOT NULL,
	"unwatched_at" timestamp (6) with time zone,
	"gone_at" timestamp (6) with time zone,
	"accepted" bigint,
	"accepted_digest" bigint,
	"found" bigint
);
--> statement-breakpoint
CREATE TABLE "entry_notes" (
	"day" date NOT NULL,
	"added" integer NOT NULL,
	"digest" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "entry_days_gone" ON "entry_days" USING btree ("day") WHERE gone_at is not null;
--> statement-breakpoint
ALTER TABLE "entry_notes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);
--> statement-breakpoint
-- From here on: functions that trust nothing of the session that wakes them. Some run as the owner of the tables for any role that
-- may insert. So every function searches names in pg_catalog alone and names its tables with their schema, only the owner may
-- call it or make a trigger of it, and a trigger function refuses another table than its own. test/db/functions.test.ts reads them all.
--
-- The first column because of which a row cannot be an entry, or "occurred_at ahead"; null: there is none. PostgreSQL no longer makes
-- this part of the statement that calls it, because a function with settings is called for each row (2.5 µs instead of 1.5).
-- recon_take_inserted, which looks at every row, therefore has the same "case", word for word; a test compares them.
-- A worker of the version before calls it without the last argument.
DROP FUNCTION recon_entry_fault(text, text, text, text, text, text, numeric, numeric, numeric, numeric, numeric, timestamptz, timestamptz);
--> statement-breakpoint
CREATE FUNCTION recon_entry_fault(
  entry_id text, callback text, product_id text, username text, txn_id text, round_id text, bet_amount
  numeric, payout_amount numeric, moved numeric, balance_before numeric, balance_after numeric, occurred_at
  timestamptz, received_at timestamptz, transaction_type text DEFAULT NULL
) RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
DROP FUNCTION recon_is_no_amount(numeric);
--> statement-breakpoint
-- A callback or a transaction type as the program writes it: "by_round" is BY_ROUND. Other words stay as they are.
CREATE FUNCTION recon_spelling(word text) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
begin
  return case lower(word)
    when 'placebets' then 'placeBets' when 'settlebets' then 'settleBets' when 'cancelbets' then 'cancelBets'
    when 'voidsettled' then 'voidSettled' when 'winrewards' then 'winRewards' when 'adjustbets' then 'adjustBets'
    when 'rollback' then 'rollback' when 'placetips' then 'placeTips' when 'canceltips' then 'cancelTips'
    when 'adjustbalance' then 'adjustBalance' when 'by_transaction' then 'BY_TRANSACTION' when 'by_bet' then 'BY_TRANSACTION'
    when 'by_round' then 'BY_ROUND' else word
  end;
end
$$;
--> statement-breakpoint
-- Says what is wrong with a row, naming column and value.
CREATE OR REPLACE FUNCTION recon_describe_fault(fault text, content jsonb) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  select format(case
      when fault = 'callback' then 'callback is "%s", which is none of placeBets, settleBets, cancelBets, voidSettled, winRewards, adjustBets, rollback, placeTips, cancelTips, adjustBalance'
      when fault = 'transaction_type' then 'transaction_type is "%s", which is none of BY_TRANSACTION, BY_ROUND'
      when fault in ('entry_id', 'product_id', 'username', 'txn_id', 'round_id') then fault || ' is longer than 600 bytes: "%s"'
      when fault = 'received_at' then 'received_at is %s, which lies before 2010 or after 9999'
      when fault = 'occurred_at' then 'occurred_at is %s, which lies before 2010: is its unit right (milliseconds, seconds)?'
      when fault = 'occurred_at ahead' then 'occurred_at is %s, more than a day after received_at, which is ' || (content ->> 'received_at')
      else fault || ' is %s, which is no decimal of at most 60 digits on either side of the point'
    end, left(content ->> split_part(fault, ' ', 1), 80))
$$;
--> statement-breakpoint
-- What a row says, the same in every session.
CREATE OR REPLACE FUNCTION recon_content(e callback_entries) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  select to_jsonb(e) - 'appended_in'
$$;
--> statement-breakpoint
-- Keeps a row that does not become an entry, for people. Returns whether it was not known before.
CREATE OR REPLACE FUNCTION recon_reject_entry(e callback_entries, rejected_as text, why text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- Asks for the comparison of what an entry touches, and changes the account of its day. "change" is 1 for an entry that comes, -1 for
-- one that goes.
CREATE OR REPLACE FUNCTION recon_mark_entry(e callback_entries, change integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  insert into public.diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (e.product_id, array[e.username], array[nullif(nullif(e.round_id, ''), 'UNKNOWN')], array[e.txn_id],
    least(e.received_at, now()));
  insert into public.entry_notes (day, added, digest)
  values ((e.occurred_at at time zone 'UTC')::date, change,
    hashtextextended(e.entry_id, hashtextextended(e.txn_id, coalesce(hash_numeric_extended(e.moved, 0), 1)
      # coalesce(hash_numeric_extended(e.bet_amount, 2), 3) # coalesce(hash_numeric_extended(e.payout_amount, 4), 5))));
end
$$;
--> statement-breakpoint
-- Asks for the comparison of what new entries touch, as soon as they are committed, adds them to the accounts of their days, and
-- moves those that cannot be used to the rejected ones. Most writers insert one row at a time, which must cost them least. A row of
-- diff_marks holds at most 30, so that nothing of it is compressed while the writer waits. A mark names the bet as well as its round:
-- of a round with very many bets, only those that do not agree by themselves are compared.
CREATE OR REPLACE FUNCTION recon_take_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- Logical replication fires row triggers only.
CREATE OR REPLACE FUNCTION recon_take_replicated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- What becomes of an update or a delete. "never": the row stays, and the change is kept with the rejected entries.
-- "replace": the change is made, the former content is kept, and what either content touches is compared again.
CREATE OR REPLACE FUNCTION recon_take_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION recon_refuse_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  raise exception 'callback_entries is a ledger and cannot be truncated'
    using hint = 'Delete rows instead: with ledger.rowsChange "replace" their history is kept, and what they touch is compared again.';
end
$$;
--> statement-breakpoint
-- Does nothing. Workers of the version before restore every trigger that they miss, and mark all entries then.
CREATE OR REPLACE FUNCTION recon_take_checked() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.callback_entries'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  return null;
end
$$;
--> statement-breakpoint
-- Switches the triggers on after a restore that had switched them off. It makes writers wait, and so it does nothing that
-- takes long: as long as recon_truncated fires always, recon_mark_entries is still to come. recon_emptied refuses what
-- logical replication and the replica role truncate too.
CREATE OR REPLACE FUNCTION recon_watch_entries() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- Has every day compared, because rows may have come, changed or gone without a note. A day without an account takes what is found: a
-- restore fills it. So does every day if there is no account at all, although writers have noted rows since the restore.
-- The days of the rows are found by the index of their time, from one to the next.
CREATE FUNCTION recon_recount_entries() RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- Asks for the comparison of every entry, and has all of them counted and searched for top-ups anew: rows may have come in
-- while the triggers were off, and came in before there were triggers. Those that cannot be entries are moved to the rejected ones.
-- No row is written unseen meanwhile, and no writer waits before it is done. Returns false if another session is at it.
CREATE OR REPLACE FUNCTION recon_mark_entries() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
-- The marks that a comparison took, for the corrections of closed days.
CREATE OR REPLACE FUNCTION note_compared_marks() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
begin
  if tg_relid <> 'public.diff_marks'::regclass then
    raise exception '% is no trigger for %', tg_name, tg_relid::regclass;
  end if;
  insert into public.closing_marks (product_id, usernames, round_ids, bet_refs)
  select product_id, usernames, round_ids, bet_refs from gone;
  return null;
end
$$;
--> statement-breakpoint
-- Bets and rounds whose mismatch changed; if it names two players, both.
CREATE OR REPLACE FUNCTION note_changed_mismatches() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
$$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION recon_entry_fault(text, text, text, text, text, text, numeric, numeric, numeric, numeric, numeric, timestamptz, timestamptz, text),
  recon_spelling(text), recon_describe_fault(text, jsonb), recon_content(callback_entries), recon_reject_entry(callback_entries, text, text),
  recon_mark_entry(callback_entries, integer), recon_take_inserted(), recon_take_replicated(), recon_take_change(),
  recon_refuse_truncate(), recon_take_checked(), recon_watch_entries(), recon_recount_entries(), recon_mark_entries(),
  note_compared_marks(), note_changed_mismatches() FROM PUBLIC;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER recon_checked AFTER INSERT ON "callback_entries" FOR EACH ROW
  WHEN (false) EXECUTE FUNCTION recon_take_checked();
--> statement-breakpoint
-- The built-in wallet writes the marks and the accounts of its entries itself, and retention the accounts of what it deletes. Their
-- transactions say so in a setting. Any session can set it, so it counts for the owner of the table alone: only the owner, its members
-- and superusers have the option to grant a right on it. It is not a right on a function, which a restore with --no-acl would give to all.
CREATE OR REPLACE TRIGGER recon_inserted AFTER INSERT ON "callback_entries" REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT
  WHEN (coalesce(pg_catalog.current_setting('wallet_recon.entries', true), '') <> 'accounted'
    OR NOT pg_catalog.has_table_privilege('callback_entries'::pg_catalog.regclass, 'TRIGGER WITH GRANT OPTION'))
  EXECUTE FUNCTION recon_take_inserted();
--> statement-breakpoint
CREATE OR REPLACE TRIGGER recon_deleted BEFORE DELETE ON "callback_entries" FOR EACH ROW
  WHEN (coalesce(pg_catalog.current_setting('wallet_recon.entries', true), '') <> 'accounted'
    OR NOT pg_catalog.has_table_privilege('callback_entries'::pg_catalog.regclass, 'TRIGGER WITH GRANT OPTION'))
  EXECUTE FUNCTION recon_take_change();
--> statement-breakpoint
-- A restore leaves every trigger on in all sessions until a worker begins. This one must not note a second time what recon_inserted notes.
CREATE OR REPLACE TRIGGER recon_replicated AFTER INSERT ON "callback_entries" FOR EACH ROW
  WHEN (pg_catalog.current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION recon_take_replicated();
--> statement-breakpoint
ALTER TABLE "callback_entries" ENABLE REPLICA TRIGGER recon_replicated;
--> statement-breakpoint
CREATE TRIGGER recon_emptied BEFORE TRUNCATE ON "callback_entries" FOR EACH STATEMENT EXECUTE FUNCTION recon_refuse_truncate();
--> statement-breakpoint
ALTER TABLE "callback_entries" ENABLE ALWAYS TRIGGER recon_emptied;
--> statement-breakpoint
-- No writer is under way now, because the triggers were replaced: each row that is there came without a note, and no later one does.
SELECT recon_recount_entries();
