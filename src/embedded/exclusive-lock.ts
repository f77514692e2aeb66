/** Locks a folder for one process. The operating system releases the lock when its owner dies. */
import { createHash } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

/** The flag of open(2) for an exclusive flock on macOS and the BSDs. Node has no name for the flag. */
const O_EXLOCK = 0x20;

/**
 * Acquires the lock of a folder until `release` or the end of the process.
 * @param folder its real path
 * @returns undefined if another process has the lock
 */
export async function takeLock(folder: string): Promise<{ release(): void } | undefined> {
  return process.platform === "linux" ? bindAbstractSocket(folder) : lockFile(folder);
}

/** On Linux only one process can bind a name in the abstract socket namespace, and the name leaves no file. */
async function bindAbstractSocket(folder: string): Promise<{ release(): void } | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<{ release(): void } | undefined>();
  const server = createServer((socket) => socket.destroy());
  server.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE") resolve(undefined);
    else reject(error);
  });
  server.listen({ path: `\0wallet-recon-${shortHash(folder)}` }, () =>
    resolve({ release: () => server.close() }),
  );
  return promise;
}

function lockFile(folder: string): { release(): void } | undefined {
  try {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK;
    const descriptor = openSync(join(folder, "supervisor.lock"), flags, 0o600);
    return { release: () => closeSync(descriptor) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

/** A short name of a path, the same at each start. */
export function shortHash(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
