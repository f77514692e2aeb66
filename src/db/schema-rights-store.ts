/** Who owns the tables, and who could make functions that the statements of this program would call by mistake (decision 270). */

import type { Query } from "./client.ts";
import { MAY_SWITCH } from "./entry-accounts.ts";

/** A longer list says no more. */
const MOST_NAMED = 5;

interface SchemaRights {
  readonly owner: string;
  readonly everyRole: boolean;
  readonly roles: readonly string[];
}

/**
 * Finds roles that may create in the schema of the tables, but could not drop the tables: not their owner, the owner of the
 * schema or of the database, or a superuser.
 * @returns a sentence, and what to do; null: there are none
 */
export async function findForeignCreators(
  sql: Query,
): Promise<{ readonly found: string; readonly mend: string } | null> {
  const [row] = await sql<SchemaRights[]>`
    select quote_ident(pg_get_userbyid(c.relowner)) as owner,
      exists (select from aclexplode(n.nspacl) where grantee = 0 and privilege_type = 'CREATE') as "everyRole",
      array(
        select quote_ident(r.rolname) from pg_roles r
        where has_schema_privilege(r.oid, n.oid, 'CREATE') and not r.rolsuper
          and not pg_has_role(r.oid, c.relowner, 'USAGE') and not pg_has_role(r.oid, n.nspowner, 'USAGE')
          and r.oid <> d.datdba and not starts_with(r.rolname, 'pg_')
        order by 1 limit ${MOST_NAMED + 1}) as roles
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_database d on d.datname = current_database()
    where c.oid = 'public.callback_entries'::regclass`;
  if (row === undefined || (!row.everyRole && row.roles.length === 0)) return null;
  const { owner, everyRole, roles } = row;
  const named = `${roles.slice(0, MOST_NAMED).join(", ")}${roles.length > MOST_NAMED ? " and more" : ""}`;
  const found = everyRole
    ? "every role may create functions in the schema public (the default of PostgreSQL 14)"
    : `other roles may create functions in the schema public: ${named}`;
  // On PostgreSQL 14 the owner of the tables, too, may create only because every role may.
  const revoke = everyRole
    ? `grant create on schema public to ${owner}; revoke create on schema public from public`
    : `revoke create on schema public from ${roles.slice(0, MOST_NAMED).join(", ")}`;
  return {
    found,
    mend: `such a function can take the place of one that wallet-recon calls, and then has the rights of its user: as a superuser run "${revoke}" (docs/ledger.md#rights)`,
  };
}

/** Whether this role owns the tables, which retention, imports and a relation need. */
export async function ownsTables(sql: Query): Promise<boolean> {
  const [row] = await sql.unsafe<{ owns: boolean }[]>(`select ${MAY_SWITCH} as owns`);
  return row?.owns === true;
}
