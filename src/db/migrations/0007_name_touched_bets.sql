-- A mark names the bet that was touched as well as its round: of a round with very many bets, only those that do not
-- agree by themselves are compared. The functions are those of 0005 but for that; a row of diff_marks holds at most 30
-- marks, so that nothing of it is compressed while the writer waits.

-- The functions below keep this setting.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
CREATE OR REPLACE FUNCTION recon_take_inserted() RETURNS trigger
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
CREATE OR REPLACE FUNCTION recon_mark_entry(e callback_entries, change integer) RETURNS void
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
CREATE OR REPLACE FUNCTION recon_take_checked() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (new.product_id, array[new.username], array[nullif(nullif(new.round_id, ''), 'UNKNOWN')],
    array[new.txn_id], least(new.received_at, now()));
  insert into rows_added (table_name, product_id, added) values ('callback_entries', '', 1);
  return null;
end
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION recon_mark_entries() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
