/**
 * One connection on which statements go out together and are answered together: one packet there, one packet back,
 * where postgres.js makes PostgreSQL send an answer for each statement. The first that fails keeps those behind it
 * from running.
 */

import type { Connection, FieldDef, Submittable } from "pg";
import type { Sql } from "./client.ts";
import { connectClient } from "./pipelined-client.ts";
import type { SqlStatement } from "./statement.ts";

/** By column, as PostgreSQL writes it in text. */
export type TextRow = Readonly<Record<string, string | null>>;

export interface PipelinedConnection {
  /** @returns the rows of each statement; rejects with what PostgreSQL says of the first that fails */
  run(statements: readonly SqlStatement[]): Promise<TextRow[][]>;
  /** its connection is lost, or was closed */
  isOver(): boolean;
  close(): Promise<void>;
}

/** A statement that PostgreSQL knows by a name. */
interface Planned {
  readonly name: string;
  /** of its rows */
  readonly columns: readonly string[];
}

/** What was planned on a connection. */
interface Plans {
  /** by their text; each has run to its end */
  readonly kept: Map<string, Planned>;
  /** so many names were given */
  named: number;
}

/** Statements of many rows are rare, and never twice the same: to keep each would only fill the memory. */
const MOST_VALUES_KEPT = 200;

/**
 * What waits for a lock does not see that its connection was closed: the server ends it first, so that what is given
 * up here does not go on there, with its locks, beside what replaces it.
 */
function endedByServer(longestRunMs: number): string {
  const statementMs = Math.ceil(longestRunMs * 0.9);
  return `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${longestRunMs}`;
}

/** The setting that tells the triggers of `callback_entries` that the writer has checked the rows. */
const CHECKED = "set wallet_recon.writes = 'checked'";

/**
 * Connects with the settings of a pool.
 * @param longestRunMs a server that has not answered by then is taken for lost: the connection is closed
 */
export async function connectPipelined({ options }: Sql, longestRunMs: number): Promise<PipelinedConnection> {
  const client = await connectClient(options);
  await client.query(`${endedByServer(longestRunMs)}; ${CHECKED}`);
  const plans: Plans = { kept: new Map(), named: 0 };
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  // Pending batches reject.
  client.on("error", end).on("end", end);
  return {
    run: (statements) => {
      listen(options, statements);
      const batch = new Batch(statements, plans);
      const timer = setTimeout(() => batch.giveUp(longestRunMs), longestRunMs);
      client.query(batch);
      return batch.answered.finally(() => clearTimeout(timer));
    },
    isOver: () => isOver,
    close: async () => {
      end();
      await client.end();
    },
  };
}

type Options = Sql["options"];

/** Reports statements to the debug listener of the pool. */
function listen({ debug }: Options, statements: readonly SqlStatement[]): void {
  if (typeof debug !== "function") return;
  for (const { text, values } of statements) debug(0, text, [...values], []);
}

/**
 * Statements that are sent and answered together. pg calls these methods for what arrives, until the answer is
 * complete.
 */
class Batch implements Submittable {
  readonly answered: Promise<TextRow[][]>;
  readonly #statements: readonly SqlStatement[];
  readonly #plans: Plans;
  readonly #settle: PromiseWithResolvers<TextRow[][]>;
  #connection: Connection | null = null;
  /** by the place of their statements, as far as those were not kept before */
  readonly #planned = new Map<number, Planned>();
  /** of each statement that was answered, and of the one that is being answered */
  readonly #rows: TextRow[][] = [[]];

  constructor(statements: readonly SqlStatement[], plans: Plans) {
    this.#statements = statements;
    this.#plans = plans;
    this.#settle = Promise.withResolvers();
    this.answered = this.#settle.promise;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.stream.cork();
    for (const [position, statement] of this.#statements.entries()) {
      const { name } = this.#plans.kept.get(statement.text) ?? this.#plan(connection, position, statement);
      connection.bind({ statement: name, values: [...statement.values] }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  #plan(connection: Connection, position: number, { text, values }: SqlStatement): Planned {
    this.#plans.named += 1;
    const name = values.length <= MOST_VALUES_KEPT ? `kept_${this.#plans.named}` : "";
    const planned: Planned = { name, columns: [] };
    this.#planned.set(position, planned);
    connection.parse({ name, text, types: [] }, true);
    connection.describe({ type: "S", name }, true);
    return planned;
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    const { place: position, planned } = this.#present();
    if (planned !== undefined)
      this.#planned.set(position, { ...planned, columns: fields.map(({ name }) => name) });
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { place: position, text, planned } = this.#present();
    const { columns = [] } = planned ?? this.#plans.kept.get(text) ?? {};
    const row: Record<string, string | null> = {};
    for (const [index, column] of columns.entries()) row[column] = fields[index] ?? null;
    this.#rows[position]?.push(row);
  }

  handleCommandComplete(): void {
    const { text, planned } = this.#present();
    if (planned !== undefined && planned.name !== "") this.#plans.kept.set(text, planned);
    this.#rows.push([]);
  }

  handleError(error: Error): void {
    this.#settle.reject(error);
  }

  giveUp(afterMs: number): void {
    this.handleError(new Error(`the database has not answered for ${afterMs / 1000} s`));
    this.#connection?.stream.destroy();
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#rows.slice(0, this.#statements.length));
  }

  /** The statement that is being answered. */
  #present() {
    const position = this.#rows.length - 1;
    return {
      place: position,
      text: this.#statements[position]?.text ?? "",
      planned: this.#planned.get(position),
    };
  }
}
