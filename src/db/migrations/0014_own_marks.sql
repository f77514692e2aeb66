-- A session whose statements write the marks of their entries says so, and this trigger leaves it at that.
CREATE OR REPLACE FUNCTION recon_take_checked() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
begin
  if coalesce(current_setting('wallet_recon.marks', true), '') = 'own' then
    return null;
  end if;
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  values (new.product_id, array[new.username], array[nullif(nullif(new.round_id, ''), 'UNKNOWN')],
    array[new.txn_id], least(new.received_at, now()));
  insert into rows_added (table_name, product_id, added) values ('callback_entries', '', 1);
  return null;
end
$$;
