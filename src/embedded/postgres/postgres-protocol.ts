/** The protocol between the holders and the supervisor of the embedded PostgreSQL. */
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";

/** The role that owns the embedded cluster. */
export const SUPERUSER = "recon";

/** The exit code of a supervisor whose folder already has another one. */
export const ANOTHER_SERVES = 75;

/** The line with which a holder releases the server. Closing the connection without it counts too. */
export const BYE = "bye\n";

/** The only argument of the supervisor, as JSON. `folder` is the real path of `<home>/postgres`. */
export interface SupervisorOrder {
  readonly folder: string;
  readonly native: string;
  readonly settings: Record<string, string>;
  /** The response repeats this value, so the caller knows whether its own supervisor started the server. */
  readonly token: string;
}

/** The only line that a holder reads, as JSON. */
export type SupervisorLine =
  | { readonly port: number; readonly password: string; readonly token: string }
  | { readonly failed: string };

/** The log of the server and of its supervisor. Each start begins a new log. */
export function logFileOf(folder: string): string {
  return join(folder, "postgres.log");
}

/**
 * A path of the supervisor's socket that is short enough for a socket address (about 100 bytes). On Linux the path leads through an open
 * file descriptor of the folder, so `folder` may have any length. The caller must call `close` afterwards.
 */
export function openSocketPath(folder: string): { readonly path: string; close(): void } {
  const name = "supervisor.sock";
  if (process.platform !== "linux") return { path: join(folder, name), close: () => undefined };
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${descriptor}/${name}`, close: () => closeSync(descriptor) };
}
