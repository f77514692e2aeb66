/** At the start of a long-running command: writes over one connection of each pool, once the database is migrated. */

import { type Proof, proveWrite } from "../../db/prove-write.ts";
import type { OpenRecon } from "./open.ts";
import { LONGEST_WAIT_MS } from "./run-until-stopped.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

/** What a pooler that drops the limits of statements must get instead; follows a colon. */
export const LIMITS_LOST =
  "a pooler between wallet-recon and PostgreSQL drops the limits of statements. Set them for the user, as docs/operations.md#connections says";

/**
 * Waits up to a minute for a database that refuses writes.
 * @returns the id of this installation
 * @throws ReconError `database-refuses-writes` or `database-unreachable`
 */
export async function proveConnections({
  context,
  people,
}: Pick<OpenRecon, "context" | "people">): Promise<string> {
  let proofs: readonly Proof[] = [];
  const prove = async () => {
    proofs = await Promise.all([proveWrite(context.sql), proveWrite(people.sql)]);
  };
  await waitUntilReady("the database", prove, context, LONGEST_WAIT_MS);
  if (proofs.some(({ statementTimeout }) => statementTimeout === "0")) context.log.warn(LIMITS_LOST);
  return proofs[0]?.installationId ?? "";
}
