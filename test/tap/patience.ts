/** How long an answer waits for the journal: even on a slow machine, no callback is answered before it is recorded. */
export const PATIENT_MS = 600_000;
