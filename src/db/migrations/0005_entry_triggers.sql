-- Every row of callback_entries is compared, whichever program writes it: triggers do what a writer could forget.
-- They run as the owner of the tables, so that a writer needs no right but to insert. What such a function does must not
-- be for the writer to choose: it looks for tables among those of the session last, and nobody else may call it.

-- The functions below keep this setting.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
-- NaN, infinity, and what has more digits than an amount is read with.
CREATE FUNCTION recon_is_no_amount(amount numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  select amount not between -1e61 and 1e61 or (scale(amount) > 60 and min_scale(amount) > 60)
$$;
--> statement-breakpoint
-- The first column because of which a row cannot be an entry, or "occurred_at ahead"; null: there is none. The one place
-- of these rules. Its parameters are columns, so that PostgreSQL makes it part of the statement that calls it.
CREATE FUNCTION recon_entry_fault(
  entry_id text, callback text, product_id text, username text, txn_id text, round_id text, bet_amount
  numeric, payout_amount numeric, moved numeric, balance_before numeric, balance_after numeric, occurred_at
  timestamptz, received_at timestamptz
) RETURNS text LANGUAGE sql STABLE AS $$
  select case
    when callback not in ('placeBets', 'settleBets', 'cancelBets', 'voidSettled', 'winRewards', 'adjustBets',
      'rollback', 'placeTips', 'cancelTips', 'adjustBalance') then 'callback'
    when octet_length(entry_id) > 600 then 'entry_id'
    when octet_length(product_id) > 600 then 'product_id'
    when octet_length(username) > 600 then 'username'
    when octet_length(txn_id) > 600 then 'txn_id'
    when octet_length(round_id) > 600 then 'round_id'
    when recon_is_no_amount(bet_amount) then 'bet_amount'
    when recon_is_no_amount(payout_amount) then 'payout_amount'
    when recon_is_no_amount(moved) then 'moved'
    when recon_is_no_amount(balance_before) then 'balance_before'
    when recon_is_no_amount(balance_after) then 'balance_after'
    when received_at not between '2010-01-01T00:00:00Z' and '9999-12-31T00:00:00Z' then 'received_at'
    when occurred_at < '2010-01-01T00:00:00Z' then 'occurred_at'
    when occurred_at > received_at + interval '24 hours' then 'occurred_at ahead'
  end
$$;
--> statement-breakpoint
-- Says what is wrong with a row, naming column and value.
CREATE FUNCTION recon_describe_fault(fault text, content jsonb) RETURNS text LANGUAGE sql STABLE AS $$
  select format(case
      when fault = 'callback' then 'callback is "%s", which is none of placeBets, settleBets, cancelBets, voidSettled, winRewards, adjustBets, rollback, placeTips, cancelTips, adjustBalance'
      when fault in ('entry_id', 'product_id', 'username', 'txn_id', 'round_id') then fault || ' is longer than 600 bytes: "%s"'
      when fault = 'received_at' then 'received_at is %s, which lies before 2010 or after 9999'
      when fault = 'occurred_at' then 'occurred_at is %s, which lies before 2010: is its unit right (milliseconds, seconds)?'
      when fault = 'occurred_at ahead' then 'occurred_at is %s, more than a day after received_at, which is ' || (content ->> 'received_at')
      else fault || ' is %s, which is no decimal of at most 60 digits on either side of the point'
    end, left(content ->> split_part(fault, ' ', 1), 80))
$$;
--> statement-breakpoint
-- What a row says, the same in every session.
CREATE FUNCTION recon_content(e callback_entries) RETURNS jsonb LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
  select to_jsonb(e) - 'appended_in'
$$;
--> statement-breakpoint
-- Keeps a row that does not become an entry, for people. Returns whether it was not known before.
CREATE FUNCTION recon_reject_entry(e callback_entries, rejected_as text, why text) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
declare
  content text := recon_content(e)::text;
  is_new boolean;
begin
  insert into rejected_entries
    (entry_digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
  values (md5(case rejected_as when 'changed' then 'changed ' || why || content else coalesce(e.entry_id, content) end),
    rejected_as, e.entry_id, e.product_id, e.username, e.txn_id, e.round_id, content, why, now())
  on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason, product_id = excluded.product_id,
    username = excluded.username, txn_id = excluded.txn_id, round_id = excluded.round_id, reported_at = null
    where rejected_entries.raw <> excluded.raw
  returning xmax = 0 into is_new;
  if found then raise notice 'callback_entries: a row is kept in rejected_entries: %', why; end if;
  return coalesce(is_new, false);
end
$$;
--> statement-breakpoint
-- Asks for the comparison of what new entries touch, as soon as they are committed, and moves those that cannot be used
-- to the rejected ones. Most writers insert one row at a time, which must cost them least. A row of diff_marks holds
-- at most 30, so that nothing of it is compressed while the writer waits. A mark names the bet as well as its round: of a
-- round with very many bets, only those that do not agree by themselves are compared.
CREATE FUNCTION recon_take_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
declare
  total integer;
  unusable integer;
  foreign_top_ups integer;
  product text;
  player text;
  round text;
  bet text;
  received timestamptz;
  e callback_entries;
begin
  select count(*), min(i.product_id collate "C"), min(i.username collate "C"),
    nullif(nullif(min(i.round_id collate "C"), ''), 'UNKNOWN'), min(i.txn_id collate "C"), max(i.received_at),
    count(recon_entry_fault(
      i.entry_id, i.callback, i.product_id, i.username, i.txn_id, i.round_id, i.bet_amount, i.payout_amount,
      i.moved, i.balance_before, i.balance_after, i.occurred_at, i.received_at)),
    count(*) filter (where i.callback = 'adjustBalance' and i.appended_in <> pg_current_xact_id())
  into total, product, player, round, bet, received, unusable, foreign_top_ups
  from inserted i;
  -- Top-ups are found by the transaction that wrote them, and a copy of the table brings those of another time along.
  if foreign_top_ups > 0 then
    update callback_entries set appended_in = pg_current_xact_id() where entry_id in (
      select i.entry_id from inserted i where i.callback = 'adjustBalance' and i.appended_in <> pg_current_xact_id());
  end if;
  if unusable > 0 then
    perform set_config('wallet_recon.writes', 'own', true);
    for e in
      delete from callback_entries where entry_id in (
        select i.entry_id from inserted i where recon_entry_fault(
          i.entry_id, i.callback, i.product_id, i.username, i.txn_id, i.round_id, i.bet_amount, i.payout_amount,
          i.moved, i.balance_before, i.balance_after, i.occurred_at, i.received_at) is not null)
      returning *
    loop
      perform recon_reject_entry(e, 'unusable', recon_describe_fault(recon_entry_fault(
        e.entry_id, e.callback, e.product_id, e.username, e.txn_id, e.round_id, e.bet_amount, e.payout_amount,
        e.moved, e.balance_before, e.balance_after, e.occurred_at, e.received_at),
        recon_content(e)));
    end loop;
    perform set_config('wallet_recon.writes', '', true);
  end if;
  if total > 1 then
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
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
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values (product, array[player], array[round], array[bet], least(received, now()));
  end if;
  if total > unusable then
    insert into rows_added (table_name, product_id, added) values ('callback_entries', '', total - unusable);
  end if;
  return null;
end
$$;
--> statement-breakpoint
CREATE FUNCTION recon_mark_entry(e callback_entries, change integer) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
declare
  round text := nullif(nullif(e.round_id, ''), 'UNKNOWN');
begin
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (e.product_id, array[e.username], array[round], array[e.txn_id],
    least(e.received_at, now()));
  if change <> 0 then
    insert into rows_added (table_name, product_id, added) values ('callback_entries', '', change);
  end if;
end
$$;
--> statement-breakpoint
-- Logical replication fires row triggers only.
CREATE FUNCTION recon_take_replicated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
declare
  fault text := recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount,
    new.payout_amount, new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at);
begin
  if fault is null then
    perform recon_mark_entry(new, 1);
    if new.callback = 'adjustBalance' then
      update callback_entries set appended_in = pg_current_xact_id() where entry_id = new.entry_id;
    end if;
  else
    perform set_config('wallet_recon.writes', 'own', true);
    delete from callback_entries where entry_id = new.entry_id;
    perform set_config('wallet_recon.writes', '', true);
    perform recon_reject_entry(new, 'unusable', recon_describe_fault(fault, recon_content(new)));
  end if;
  return null;
end
$$;
--> statement-breakpoint
-- What becomes of an update or a delete. "never": the row stays, and the change is kept with the rejected entries.
-- "replace": the change is made, the former content is kept, and what either content touches is compared again.
CREATE FUNCTION recon_take_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
declare
  may_change boolean := exists (select from ledger_settings where rows_change = 'replace');
  fault text := case when tg_op = 'UPDATE' then recon_entry_fault(
    new.entry_id, new.callback, new.product_id, new.username, new.txn_id, new.round_id, new.bet_amount,
    new.payout_amount, new.moved, new.balance_before, new.balance_after, new.occurred_at, new.received_at) end;
begin
  -- Who wrote a row is nothing that it says.
  if tg_op = 'UPDATE' and recon_content(new) = recon_content(old) then
    new.appended_in := pg_current_xact_id();
    return new;
  end if;
  if fault is not null then
    perform recon_reject_entry(new, 'changed', format('entry "%s" was changed to what cannot be used; its first content stays: %s',
      old.entry_id, recon_describe_fault(fault, recon_content(new))));
    return null;
  end if;
  if not may_change then
    if tg_op = 'DELETE' then
      perform recon_reject_entry(old, 'changed',
        format('entry "%s" was deleted; it stays, because ledger.rowsChange is "never"', old.entry_id));
    else
      perform recon_reject_entry(new, 'changed', format(
        'entry "%s" was changed (%s); its first content stays, because ledger.rowsChange is "never"', old.entry_id,
        (select string_agg(format('%s from %s to %s', b.key, b.value, a.value), ', ' order by b.key)
          from jsonb_each(recon_content(old)) b join jsonb_each(recon_content(new)) a using (key)
          where a.value <> b.value)));
    end if;
    return null;
  end if;
  insert into entry_versions (entry_id, product_id, username, txn_id, content, change, changed_at)
  values (old.entry_id, old.product_id, old.username, old.txn_id, recon_content(old),
    case tg_op when 'DELETE' then 'deleted' else 'replaced' end, now());
  perform recon_mark_entry(old, case tg_op when 'DELETE' then -1 else 0 end);
  if tg_op = 'DELETE' then return old; end if;
  perform recon_mark_entry(new, 0);
  return new;
end
$$;
--> statement-breakpoint
CREATE FUNCTION recon_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  raise exception 'callback_entries is a ledger and cannot be truncated'
    using hint = 'Delete rows instead: with ledger.rowsChange "replace" their history is kept, and what they touch is compared again.';
end
$$;
--> statement-breakpoint
-- The built-in wallet has checked a callback before it moves money, and inserts few rows at a time: its sessions say so,
-- because players wait for them. Its rows are marked and counted as all others.
CREATE FUNCTION recon_take_checked() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (new.product_id, array[new.username], array[nullif(nullif(new.round_id, ''), 'UNKNOWN')],
    array[new.txn_id], least(new.received_at, now()));
  insert into rows_added (table_name, product_id, added) values ('callback_entries', '', 1);
  return null;
end
$$;
--> statement-breakpoint
CREATE TRIGGER recon_checked AFTER INSERT ON "callback_entries" FOR EACH ROW
  WHEN (coalesce(current_setting('wallet_recon.writes', true), '') = 'checked') EXECUTE FUNCTION recon_take_checked();
--> statement-breakpoint
CREATE TRIGGER recon_inserted AFTER INSERT ON "callback_entries" REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT
  WHEN (coalesce(current_setting('wallet_recon.writes', true), '') <> 'checked') EXECUTE FUNCTION recon_take_inserted();
--> statement-breakpoint
CREATE TRIGGER recon_replicated AFTER INSERT ON "callback_entries" FOR EACH ROW
  EXECUTE FUNCTION recon_take_replicated();
--> statement-breakpoint
CREATE TRIGGER recon_updated BEFORE UPDATE ON "callback_entries" FOR EACH ROW
  WHEN (new is distinct from old) EXECUTE FUNCTION recon_take_change();
--> statement-breakpoint
CREATE TRIGGER recon_deleted BEFORE DELETE ON "callback_entries" FOR EACH ROW
  WHEN (coalesce(current_setting('wallet_recon.writes', true), '') <> 'own') EXECUTE FUNCTION recon_take_change();
--> statement-breakpoint
CREATE TRIGGER recon_truncated BEFORE TRUNCATE ON "callback_entries" FOR EACH STATEMENT
  EXECUTE FUNCTION recon_refuse_truncate();
--> statement-breakpoint
-- Switches the triggers on after a restore that had switched them off. It makes writers wait, and so it does nothing that
-- takes long: as long as recon_truncated fires always, recon_mark_entries is still to come.
CREATE FUNCTION recon_watch_entries() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  alter table callback_entries enable trigger recon_checked;
  alter table callback_entries enable trigger recon_inserted;
  alter table callback_entries enable replica trigger recon_replicated;
  alter table callback_entries enable always trigger recon_updated;
  alter table callback_entries enable trigger recon_deleted;
  alter table callback_entries enable always trigger recon_truncated;
end
$$;
--> statement-breakpoint
-- Asks for the comparison of every entry, and has all of them counted and searched for top-ups anew: rows may have come in
-- while the triggers were off, and came in before there were triggers. Nobody writes a row unseen meanwhile, and no writer
-- waits before it is done. Returns false where another session is at it.
CREATE FUNCTION recon_mark_entries() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  if not pg_try_advisory_xact_lock(hashtextextended('callback_entries', 2)) then return false; end if;
  delete from top_up_states;
  delete from row_counts where table_name = 'callback_entries';
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), least(max(received_at), now())
  from (
    select *, (row_number() over (partition by product_id order by received_at) - 1) / 500 as part
    from (
      select product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id as bet_ref,
        max(received_at) as received_at
      from callback_entries group by 1, 2, 3, 4
    ) touched
  ) numbered
  group by product_id, part;
  alter table callback_entries enable trigger recon_truncated;
  return true;
end
$$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION recon_watch_entries(), recon_mark_entries() FROM PUBLIC;
--> statement-breakpoint
SELECT recon_watch_entries();
--> statement-breakpoint
-- A large ledger is left to the worker: the writers wait for a migration to end.
DO $$
begin
  if not exists (select from callback_entries offset 50000) then
    perform recon_mark_entries();
  end if;
end
$$;
