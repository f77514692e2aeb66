/** What a holder and the supervisor of the embedded PostgreSQL must agree on, kept in one place. */
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";

/** The role that owns the embedded cluster. */
export const SUPERUSER = "recon";

/** Exit code of a supervisor that found another one already serving the folder. */
export const ANOTHER_SERVES = 75;

/** The line with which a holder lets go in good order; a mere hang-up counts as well. */
export const BYE = "bye\n";

/** The supervisor's only argument, as JSON. `folder` is the real path of `<home>/postgres`. */
export interface SupervisorOrder {
  readonly folder: string;
  readonly native: string;
  readonly settings: Record<string, string>;
  /** Comes back in the ready line and tells the caller whether it was its supervisor that started the server. */
  readonly token: string;
}

/** The one line a holder reads, as JSON. */
export type SupervisorLine =
  | { readonly port: number; readonly password: string; readonly token: string }
  | { readonly failed: string };

/** The log of the server and of its supervisor, started anew with every start. */
export function logFileOf(folder: string): string {
  return join(folder, "postgres.log");
}

/**
 * A path of the supervisor's socket that is short enough for a socket address (about 100 bytes).
 * On Linux it goes through an open folder, so `folder` may be of any length; call `close` when done with it.
 */
export function openSocketPath(folder: string): { readonly path: string; close(): void } {
  const name = "supervisor.sock";
  if (process.platform !== "linux") return { path: join(folder, name), close: () => undefined };
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${descriptor}/${name}`, close: () => closeSync(descriptor) };
}
