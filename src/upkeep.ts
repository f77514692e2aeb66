/** Finds problems of PostgreSQL's own maintenance long before they cause an outage (docs/operations.md#vacuum-and-transaction-ids). Pure. */

import { showDuration } from "./clock.ts";

export interface Upkeep {
  /** the used share, 0 to 1, of the ids that PostgreSQL can assign before it stops; of the worst database */
  readonly transactionIds: number;
  readonly multixactIds: number;
  /** the longest open transaction of a client in this database; null: there is none */
  readonly transaction: OpenTransaction | null;
  /** the oldest prepared transaction of this database, which no client ends by itself; null: there is none */
  readonly prepared: { readonly name: string; readonly ageSeconds: number } | null;
  /** the slot that holds back the most transactions; null: no slot does */
  readonly slot: { readonly name: string; readonly isActive: boolean; readonly transactions: number } | null;
  /** tables with more dead rows than the number at which autovacuum starts; the worst first */
  readonly overdue: readonly OverdueTable[];
  /** can this user see the transactions of other users? */
  readonly seesAll: boolean;
  readonly autovacuum: boolean;
}

interface OpenTransaction {
  readonly pid: number;
  readonly application: string;
  readonly state: string;
  readonly ageSeconds: number;
}

/** A table with `overdue` times as many dead rows as those at which autovacuum starts. */
interface OverdueTable {
  readonly table: string;
  readonly dead: number;
  readonly overdue: number;
}

/** A problem that the operator must solve: what it is, and what to do. */
export interface UpkeepProblem {
  readonly found: string;
  readonly mend: string;
}

/** A quarter of the ids: more than twice the age at which autovacuum starts to freeze by default. */
const MOST_USED = 0.25;
/** Work of this program ends within five minutes, a whole count of a large table within two hours. */
const LONGEST_TRANSACTION_S = 3 * 3_600;
/** A busy installation uses as many transactions in minutes to hours. */
const MOST_HELD = 10_000_000;
/** Autovacuum starts at 1, and checks every table once a minute. */
const MOST_OVERDUE = 5;

export function judgeUpkeep(facts: Upkeep): UpkeepProblem[] {
  return [...judgeIds(facts), ...judgeHolders(facts), ...judgeVacuum(facts)];
}

function judgeIds({ transactionIds, multixactIds }: Upkeep): UpkeepProblem[] {
  const ids = [
    { name: "transaction ids", used: transactionIds, column: "age(relfrozenxid)" },
    { name: "multixact ids", used: multixactIds, column: "mxid_age(relminmxid)" },
  ];
  return ids
    .filter(({ used }) => used > MOST_USED)
    .map(({ name, used, column }) => ({
      found: `${Math.round(used * 100)} % of PostgreSQL's ${name} are used: at 100 % it refuses every write`,
      mend: `end what holds old rows back (the lines below name it), then run "vacuum (freeze)" on the tables with the largest ${column} in pg_class`,
    }));
}

function judgeHolders({ transaction, prepared, slot }: Upkeep): UpkeepProblem[] {
  const problems: UpkeepProblem[] = [];
  if (transaction !== null && transaction.ageSeconds > LONGEST_TRANSACTION_S) {
    const { pid, application, state, ageSeconds } = transaction;
    problems.push({
      found: `a transaction of "${application}" (pid ${pid}, ${state}) has been open for ${showDuration(ageSeconds * 1000)}: rows deleted since then stay on the disk`,
      mend: `end it: select pg_terminate_backend(${pid})`,
    });
  }
  if (prepared !== null && prepared.ageSeconds > LONGEST_TRANSACTION_S) {
    problems.push({
      found: `the prepared transaction "${prepared.name}" has been open for ${showDuration(prepared.ageSeconds * 1000)}: rows deleted since then stay on the disk`,
      mend: `end it: commit prepared '${prepared.name}', or rollback prepared '${prepared.name}'; this program prepares none`,
    });
  }
  if (slot !== null && slot.transactions > MOST_HELD) {
    const { name, isActive, transactions } = slot;
    problems.push({
      found: `the replication slot "${name}" (${isActive ? "in use" : "not in use"}) holds back the rows of the last ${transactions.toLocaleString("en")} transactions`,
      mend: isActive
        ? "find out why its replica falls behind: a long query there, or a slow network"
        : `start its replica, or drop the slot: select pg_drop_replication_slot('${name}')`,
    });
  }
  return problems;
}

function judgeVacuum({ autovacuum, overdue }: Upkeep): UpkeepProblem[] {
  const problems: UpkeepProblem[] = [];
  if (!autovacuum)
    problems.push({
      found: "autovacuum is off: tables grow without limit, and PostgreSQL runs out of transaction ids",
      mend: "set autovacuum = on and track_counts = on in postgresql.conf",
    });
  const late = overdue.filter((one) => one.overdue > MOST_OVERDUE);
  if (late.length > 0) {
    const names = late
      .slice(0, 5)
      .map(({ table, dead }) => `${table} (${dead.toLocaleString("en")} dead rows)`);
    problems.push({
      found: `autovacuum does not keep up with ${names.join(", ")}${late.length > 5 ? ` and ${late.length - 5} more` : ""}`,
      mend: "end what holds old rows back, if a line above names it; otherwise run vacuum on these tables, and raise autovacuum_max_workers or lower autovacuum_vacuum_cost_delay",
    });
  }
  return problems;
}
