/** What the tap counts, for its metrics and its log. */

/** Why a callback that was answered is not in the journal. */
export const LOSSES = [
  "journal-full",
  "disk-error",
  "disk-slow",
  "too-large",
  "unreadable",
  "unknown-path",
  "status-differs",
] as const;
export type Loss = (typeof LOSSES)[number];

/** What became of the requests that passed. */
export interface Tally {
  /** callbacks and their answers that were written to the journal */
  recorded: number;
  /** callbacks that were answered and are not in the journal, by the reason */
  readonly lost: Record<Loss, number>;
  /** callbacks whose connection ended before the target had answered; the caller has no answer to them */
  unanswered: number;
  /** callbacks that got an HTTP error without an answer of the interface, such as the page of a gateway */
  refused: number;
  /** requests that move no money: other paths, other methods, checkBalance */
  others: number;
  /** requests that did not pass: CONNECT, what is not HTTP/1.1, one behind 1,000 without answers */
  unpassed: number;
  /** connections for which the target could not be reached */
  unreachable: number;
  /** connections that are open now */
  connections: number;
}

export function openTally(): Tally {
  return {
    recorded: 0,
    lost: {
      "journal-full": 0,
      "disk-error": 0,
      "disk-slow": 0,
      "too-large": 0,
      unreadable: 0,
      "unknown-path": 0,
      "status-differs": 0,
    },
    unanswered: 0,
    refused: 0,
    others: 0,
    unpassed: 0,
    unreachable: 0,
    connections: 0,
  };
}

export function sumOfLost({ lost }: Tally): number {
  return Object.values(lost).reduce((sum, count) => sum + count, 0);
}
