/** The name under which the history shows the person who runs a command. */

import { userInfo } from "node:os";
import { getuid } from "node:process";

/** "cli:" and the name of the account. In a container the account may have no name. */
export function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:uid-${getuid?.() ?? "unknown"}`;
  }
}
