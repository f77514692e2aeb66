/** Runs the steps of a job. A step that fails does not stop the others. */

/**
 * A step that fails again and again, such as a delete that a trigger refuses, must not keep the steps after it from ever
 * running. @throws the first error, after the last step
 */
export async function runEach(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
