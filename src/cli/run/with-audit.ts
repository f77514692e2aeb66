/** Writes the changes of a command to the audit log, under the name of its user. */

import { userInfo } from "node:os";
import { getuid } from "node:process";
import { answerAudit, insertAudit } from "../../access/audit-store.ts";
import type { FlowContext } from "../../flows/context.ts";

/** "cli:" and the name of the account. In a container the account may have no name. */
export function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:uid-${getuid?.() ?? "unknown"}`;
  }
}

/**
 * Runs a change with a row in the audit log.
 * @param route the command: "recon rejected retry"
 * @param details what was asked for; a few hundred bytes at most
 */
export async function withAudit(
  { sql, clock }: FlowContext,
  route: string,
  details: Readonly<Record<string, unknown>>,
  run: () => Promise<void>,
): Promise<void> {
  const row = await insertAudit(sql, {
    at: clock.now(),
    who: actorName(),
    role: "write",
    by: "command",
    address: "local",
    method: "RUN",
    route,
    target: "{}",
    details: JSON.stringify(details),
    status: null,
  });
  try {
    await run();
    await answerAudit(sql, row, 0);
  } catch (error) {
    await answerAudit(sql, row, 1).catch(() => {});
    throw error;
  }
}
