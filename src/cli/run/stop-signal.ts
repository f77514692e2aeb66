/** Waits for the signal that ends a long-running command. */

/**
 * Resolves at the first SIGINT or SIGTERM. Later signals have no effect, because npm repeats the terminal's Ctrl-C.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
  });
}
