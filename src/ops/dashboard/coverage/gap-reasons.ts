/** The meaning of a gap's code, for readers who do not know the codes. */

import type { ErrorCode } from "../../../errors.ts";
import { NOT_FETCHED } from "../../../sync/coverage.ts";

const MEANINGS: Partial<Readonly<Record<ErrorCode | typeof NOT_FETCHED, string>>> = {
  [NOT_FETCHED]: "not fetched yet, or a worker is fetching it",
  "provider-timeout": "the provider did not answer in time, not even for the shortest window",
  "provider-drip": "the provider's answer did not end in time",
  "provider-http-408": "the provider reported a time-out (408)",
  "provider-http-504": "a gateway before the provider reported a time-out (504)",
  "provider-http-524": "a gateway before the provider reported a time-out (524)",
  "provider-dropped": "the connection was dropped before the answer",
  "provider-cut-short": "the answer broke off",
  "provider-throttled": "the provider limited the requests (429)",
  "provider-server-error": "the provider failed (5xx)",
  "provider-unreachable": "nothing listens at the provider's address",
  "provider-refused": "the provider refuses the credentials",
  "provider-bad-status": "the provider answered with an unexpected status",
  "provider-rejected": "the provider refused the request: its code was not 0",
  "provider-not-json": "the answer was not JSON",
  "provider-bad-envelope": "the JSON of the answer differed from the interface",
  "provider-too-large": "the answer was larger than 16 MB",
  "cursor-loop": "the provider's pages formed a loop",
  "cursor-expired": "the provider's cursor was too old",
  "page-limit": "the provider's pages did not end",
};

/**
 * @param code of a gap (`not-fetched`, or an error code); null: a new attempt is under way, and the last error is
 * forgotten
 */
export function explainGap(code: string | null): string {
  if (code === null) return "this time could not be fetched, and a new attempt is under way";
  return (MEANINGS as Readonly<Record<string, string>>)[code] ?? "this time could not be fetched";
}
