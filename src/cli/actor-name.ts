/** Who is told of to have done what a command does. */

import { userInfo } from "node:os";
import { getuid } from "node:process";

/** "cli:" and the account's name; a container may run as a user that has none. */
export function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:uid-${getuid?.() ?? "unknown"}`;
  }
}
