/** Workarounds for what postgres.js does when a connection is lost or busy. */

import type { Query, Sql } from "./client.ts";
import { isConnectionLost } from "./database-error.ts";

const TEXT_ARRAY = 1009;

/**
 * postgres.js sends statements along a connection that still answers others, and where `begin` is the last one for
 * which there is room, it forgets whose connection that is: the transaction fails here, and stays open there with
 * whatever is sent next (https://github.com/porsager/postgres/issues/1189). So outside of transactions a connection
 * is given one statement at a time: `begin` always finds one that is idle. A statement whose `onexecute` is false
 * takes no other with it.
 */
export function runEachAlone(sql: Sql): Sql {
  const alone = <Query>(query: Query): Query => {
    if (query instanceof Promise)
      Object.assign((query as unknown as PendingQuery).options, { onexecute: () => false });
    return query;
  };
  const unsafe = (...parts: Parameters<Sql["unsafe"]>) => alone(sql.unsafe(...parts));
  return new Proxy(sql, {
    apply: (target, self, parts) =>
      alone(Reflect.apply(target as (...all: unknown[]) => unknown, self, parts)),
    get: (target, name) => (name === "unsafe" ? unsafe : Reflect.get(target, name)),
  });
}

type PendingQuery = Promise<unknown> & { readonly options: object };

/**
 * postgres.js asks every new connection for the types of arrays, which all connections share. Where that connection
 * is lost meanwhile, nobody can catch the rejection, and it ends the process: what is known is not asked for again.
 */
export function learnArrayTypesOnce({ options }: Sql): void {
  const isUnknown = () => options.parsers[TEXT_ARRAY] === undefined;
  Object.defineProperty(options, "fetch_types", { get: isUnknown });
}

export type TransactionWork = (tx: Query) => unknown;

/**
 * Where the connection is lost, postgres.js rejects the transaction, and yet goes on to write to the socket that is
 * no more: the work's next statement, its rollback or its commit, any of which ends the process
 * (https://github.com/porsager/postgres/issues/1154). So work whose transaction is over is refused every statement,
 * and never ends.
 */
export function outliveLostConnections(sql: Sql): Sql {
  const begin = sql.begin.bind(sql) as (options: string, work: TransactionWork) => Promise<unknown>;
  const outlive = (options: string, work: TransactionWork) => {
    let isOver = false;
    const transaction = begin(
      options,
      whileItLasts(work, () => isOver),
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

function whileItLasts(work: TransactionWork, isOver: () => boolean) {
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
        (property as (work: TransactionWork) => unknown)(whileItLasts(work, isOver));
    },
  });
}
