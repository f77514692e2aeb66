/** Finds roles that could make, or have made, functions that the statements of this program would call by mistake (decisions 270, 274). */

import { ReconError } from "../errors.ts";
import type { Query, Sql } from "./client.ts";
import { MAY_SWITCH } from "./row-counts.ts";

/** The longest list in a message. */
const MOST_NAMED = 5;

interface SchemaRights {
  readonly schema: string;
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
    select quote_ident(n.nspname) as schema, quote_ident(pg_get_userbyid(c.relowner)) as owner,
      exists (select from aclexplode(n.nspacl) where grantee = 0 and privilege_type = 'CREATE') as "everyRole",
      array(
        select quote_ident(r.rolname) from pg_roles r
        where has_schema_privilege(r.oid, n.oid, 'CREATE') and not r.rolsuper
          and not pg_has_role(r.oid, c.relowner, 'USAGE') and not pg_has_role(r.oid, n.nspowner, 'USAGE')
          and r.oid <> d.datdba and not starts_with(r.rolname, 'pg_')
        order by 1 limit ${MOST_NAMED + 1}) as roles
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_database d on d.datname = current_database()
    where c.oid = 'callback_entries'::regclass`;
  if (row === undefined || (!row.everyRole && row.roles.length === 0)) return null;
  const { schema, owner, everyRole, roles } = row;
  const named = `${roles.slice(0, MOST_NAMED).join(", ")}${roles.length > MOST_NAMED ? " and more" : ""}`;
  const found = everyRole
    ? `every role may create functions in the schema ${schema} (the default of PostgreSQL 14)`
    : `other roles may create functions in the schema ${schema}: ${named}`;
  // On PostgreSQL 14 the owner of the tables, too, may create only because every role may.
  const revoke = everyRole
    ? `grant create on schema ${schema} to ${owner}; revoke create on schema ${schema} from public`
    : `revoke create on schema ${schema} from ${roles.slice(0, MOST_NAMED).join(", ")}`;
  return {
    found,
    mend: `such a function can replace one that wallet-recon calls, and then runs with the rights of its user: as a superuser run "${revoke}" (docs/ledger.md#rights)`,
  };
}

/**
 * Checks that no other role has made a function or operator that a statement of this program could call by mistake (decision 274). Must run
 * before any statement that calls a function, so it searches names in pg_catalog alone.
 * @throws ReconError `schema-unsafe`: names them, and the statements that remove them
 */
export async function refusePlanted(sql: Pick<Sql, "begin">): Promise<void> {
  const planted = await sql.begin(async (tx) => {
    const [path] = await tx<{ schemas: string[]; own: string | null }[]>`
      select current_schemas(false)::text[] as schemas, current_schema()::text as own`;
    await tx`set local search_path = pg_catalog`;
    return await tx<{ kind: string; name: string; role: string; schema: string; tablesOf: string }[]>`
      with ours as (
        select coalesce(c.relowner, u.oid) as owner, n.nspowner, d.datdba
        from pg_roles u join pg_database d on d.datname = current_database()
          left join pg_namespace n on n.nspname = ${path?.own ?? null}::text
          left join pg_class c on c.relnamespace = n.oid and c.relname = 'callback_entries'
        where u.rolname = current_user
      ),
      trusted as (
        select r.oid from pg_roles r cross join ours o
        where r.rolsuper or r.oid = o.datdba or pg_has_role(r.oid, o.owner, 'USAGE') or pg_has_role(r.oid, o.nspowner, 'USAGE')
      ),
      made as (
        select p.tableoid, p.oid, case prokind when 'a' then 'aggregate' when 'p' then 'procedure' else 'function' end as kind,
          proname as word, proowner as owner, pronamespace as schema from pg_proc p
        union all
        select o.tableoid, o.oid, 'operator', oprname, oprowner, oprnamespace from pg_operator o
      )
      select m.kind, case m.kind when 'operator' then m.oid::regoperator::text else m.oid::regprocedure::text end as name,
        quote_ident(pg_get_userbyid(m.owner)) as role, quote_ident(pg_get_userbyid((select owner from ours))) as "tablesOf",
        quote_ident(n.nspname) as schema
      from made m join pg_namespace n on n.oid = m.schema
      where n.nspname = any(${path?.schemas ?? []}::text[]) and m.owner not in (select oid from trusted)
        and exists (
          select from made own where own.word = m.word and own.tableoid = m.tableoid
            and (own.schema = 'pg_catalog'::regnamespace or own.schema = m.schema and own.owner = (select owner from ours)))
        and not exists (
          select from pg_depend d join pg_extension e on e.oid = d.refobjid
          where d.classid = m.tableoid and d.objid = m.oid and d.deptype = 'e' and e.extowner in (select oid from trusted))
      order by 1, 2 limit ${MOST_NAMED + 1}`;
  });
  const [first] = planted;
  if (first === undefined) return;
  const named = planted.slice(0, MOST_NAMED);
  const list = named.map(({ kind, name, role }) => `${kind} ${name} of ${role}`).join(", ");
  const drops = named.map(({ kind, name }) => `drop ${kind} ${name} cascade`).join("; ");
  throw new ReconError(
    "schema-unsafe",
    `another role has made functions or operators that statements of wallet-recon would call with the rights of its user: ${list}${planted.length > MOST_NAMED ? ", and more" : ""}. ` +
      `As a superuser run "${drops}; grant create on schema ${first.schema} to ${first.tablesOf}; revoke create on schema ${first.schema} from public", and find out what it has changed (docs/ledger.md#rights).`,
  );
}

/** Does this role own the tables? Retention, imports and a relation need that. */
export async function ownsTables(sql: Query): Promise<boolean> {
  const [row] = await sql.unsafe<{ owns: boolean }[]>(`select ${MAY_SWITCH} as owns`);
  return row?.owns === true;
}
