/** Workarounds for what postgres.js does when a connection is lost or busy, or a statement fails. */

import type { Query, Sql } from "./client.ts";
import { isConnectionLost } from "./database-error.ts";

const TEXT_ARRAY = 1009;

/**
 * Changes how each statement outside of transactions is sent and answered.
 *
 * It is sent alone. By itself postgres.js pipelines several on one connection. If `begin` fills that pipeline, postgres.js loses the
 * transaction: it fails here and stays open in the database (https://github.com/porsager/postgres/issues/1189). A statement whose
 * `onexecute` returns false keeps postgres.js from adding another.
 *
 * Its rows begin at index 0. If the statement before it on its connection failed after 3 rows, postgres.js writes its rows from index 3 on
 * (https://github.com/porsager/postgres/issues/1119), so `const [row]` would find nothing. In a transaction `begin` and `rollback` correct it.
 */
export function mendStatements(sql: Sql): Sql {
  const mended = <Query>(query: Query): Query => {
    if (query instanceof Promise) mendStatement(query as unknown as PendingQuery);
    return query;
  };
  const unsafe = (...parts: Parameters<Sql["unsafe"]>) => mended(sql.unsafe(...parts));
  return new Proxy(sql, {
    apply: (target, self, parts) =>
      mended(Reflect.apply(target as (...all: unknown[]) => unknown, self, parts)),
    get: (target, name) => (name === "unsafe" ? unsafe : Reflect.get(target, name)),
  });
}

interface PendingQuery {
  readonly options: object;
  resolve(rows: unknown[]): void;
}

function mendStatement(query: PendingQuery): void {
  const { options, resolve } = query;
  Object.assign(options, { onexecute: () => false });
  query.resolve = (rows) => {
    let first = 0;
    while (first < rows.length && !(first in rows)) first += 1;
    if (first > 0) rows.splice(0, first);
    resolve(rows);
  };
}

/**
 * Reads the types of arrays only once. postgres.js reads them on every new connection. If that connection is lost at this moment, no code
 * can catch the rejection, and the process ends.
 */
export function readArrayTypesOnce({ options }: Sql): void {
  Object.defineProperty(options, "fetch_types", { get: () => !knowsArrayTypes(options) });
}

function knowsArrayTypes({ parsers }: Sql["options"]): boolean {
  return parsers[TEXT_ARRAY] !== undefined;
}

/** Copies the types that the old pool has read to the new one, and ends the old one without the rejection that no code can catch. */
export function replacePool(before: Sql, after: Sql, graceSeconds: number): void {
  for (const name of ["parsers", "serializers"] as const) {
    Object.assign(after.options[name], before.options[name]);
  }
  Object.assign(sharedOf(after).typeArrayMap, sharedOf(before).typeArrayMap);
  const ending = knowsArrayTypes(before.options) ? before.end({ timeout: graceSeconds }) : before.end();
  ending.catch(() => {});
}

/** A part of the options of postgres.js that its types do not declare. */
function sharedOf({ options }: Sql): { readonly typeArrayMap: Record<number, number> } {
  return (options as unknown as { shared: { typeArrayMap: Record<number, number> } }).shared;
}

export type TransactionWork = (tx: Query) => unknown;

/**
 * Keeps a lost connection from ending the process. postgres.js rejects the transaction of a lost connection, but then writes its next
 * statement, rollback or commit to the closed socket, which ends the process (https://github.com/porsager/postgres/issues/1154). So every
 * further statement of such a transaction throws, and the promise of its work never settles.
 */
export function surviveLostConnections(sql: Sql): Sql {
  const begin = sql.begin.bind(sql) as (options: string, work: TransactionWork) => Promise<unknown>;
  const outlive = (options: string, work: TransactionWork) => {
    let isOver = false;
    const transaction = begin(
      options,
      untilConnectionLost(work, () => isOver),
    );
    transaction.catch(() => {
      isOver = true;
    });
    return transaction;
  };
  return Object.assign(sql, {
    begin: (first: string | TransactionWork, second?: TransactionWork) =>
      typeof first === "string" ? outlive(first, second as TransactionWork) : outlive("", first),
  });
}

function untilConnectionLost(work: TransactionWork, isOver: () => boolean) {
  return async (tx: Query): Promise<unknown> => {
    try {
      const result = await work(refuseWhen(tx, isOver));
      if (!isOver()) return result;
    } catch (error) {
      if (!isOver() && !isConnectionLost(error)) throw error;
    }
    return await new Promise(() => {});
  };
}

function refuseWhen(tx: Query, isOver: () => boolean): Query {
  const refuse = () => {
    if (isOver()) throw new Error("the connection of this transaction was lost");
  };
  return new Proxy(tx, {
    apply: (target, self, statement) => {
      refuse();
      return Reflect.apply(target as (...parts: unknown[]) => unknown, self, statement);
    },
    get: (target, name) => {
      if (name === "unsafe" || name === "savepoint") refuse();
      const property: unknown = Reflect.get(target, name);
      if (name !== "savepoint") return property;
      return (work: TransactionWork) =>
        (property as (work: TransactionWork) => unknown)(untilConnectionLost(work, isOver));
    },
  });
}
