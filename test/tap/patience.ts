/** So long an answer waits for the journal: however slow the machine is, nothing is answered before it is recorded. */
export const PATIENT_MS = 600_000;
