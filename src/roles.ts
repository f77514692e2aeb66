/** Who may do what on the ops server. */

/** Each may do what the ones before it may. */
export const ROLES = ["view", "decide", "close", "admin"] as const;
/**
 * - `view`: reads everything
 * - `decide`: decides and comments on mismatches, incidents and transfers
 * - `close`: closes days
 * - `admin`: everything else that changes something
 */
export type Role = (typeof ROLES)[number];

/** A role as a token of OPS_TOKENS names it: `read` is `view`, `write` is `admin`. */
export const ROLE_NAMES = [...ROLES, "read", "write"] as const;
export type RoleName = (typeof ROLE_NAMES)[number];

export function roleOf(name: RoleName): Role {
  return name === "read" ? "view" : name === "write" ? "admin" : name;
}

export function hasRole(name: RoleName, needed: Role): boolean {
  return ROLES.indexOf(roleOf(name)) >= ROLES.indexOf(needed);
}

/** The greatest of some roles; null: there are none. */
export function greatestRole(roles: readonly Role[]): Role | null {
  return ROLES.findLast((role) => roles.includes(role)) ?? null;
}
