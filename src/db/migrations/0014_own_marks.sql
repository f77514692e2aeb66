-- The functions below keep this setting, as in 0005.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
--> statement-breakpoint
-- A session whose statements write the marks of their entries says so, and then this trigger does nothing. Only who may write
-- marks can say that: a row of any other writer is marked.
CREATE OR REPLACE FUNCTION recon_take_checked() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  if current_setting('wallet_recon.marks', true) = 'own' and has_table_privilege(session_user, 'diff_marks', 'insert') then
    return null;
  end if;
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (new.product_id, array[new.username], array[nullif(nullif(new.round_id, ''), 'UNKNOWN')],
    array[new.txn_id], least(new.received_at, now()));
  insert into rows_added (table_name, product_id, added) values ('callback_entries', '', 1);
  return null;
end
$$;
