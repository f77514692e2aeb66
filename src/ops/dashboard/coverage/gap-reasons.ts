/** The meaning of a gap's code, for readers who do not know the codes. */

import type { ErrorCode } from "../../../errors.ts";
import { NOT_FETCHED } from "../../../sync/coverage.ts";

const MEANINGS: Partial<Readonly<Record<ErrorCode | typeof NOT_FETCHED, string>>> = {
  [NOT_FETCHED]: "this time waits, or is being fetched just now",
  "provider-timeout": "the provider did not answer in time, not even for the shortest window",
  "provider-drip": "the provider answered so slowly that the time was over before the end",
  "provider-http-408": "the provider said that it took too long (408)",
  "provider-http-504": "a gateway before the provider gave up waiting (504)",
  "provider-dropped": "the connection was dropped before the answer",
  "provider-cut-short": "the answer broke off in its middle",
  "provider-throttled": "the provider limited the requests (429)",
  "provider-server-error": "the provider had an error of its own (5xx)",
  "provider-unreachable": "nobody listens at the provider's address",
  "provider-refused": "the provider refuses the credentials",
  "provider-bad-status": "the provider answered with a status that makes no sense here",
  "provider-rejected": "the provider refused the question: its code was not 0",
  "provider-not-json": "the answer was no JSON",
  "provider-bad-envelope": "the answer was JSON of another shape than agreed",
  "provider-too-large": "the answer was larger than 16 MB",
  "cursor-loop": "the provider's pages went round in circles",
  "cursor-expired": "the provider's cursor was too old to be trusted",
  "page-limit": "the provider's pages had no end",
};

/**
 * @param code of a gap (`not-fetched`, or an error code); null: a new attempt is under way, and the last error is
 * forgotten
 */
export function explainGap(code: string | null): string {
  if (code === null) return "this time could not be fetched, and a new attempt is under way";
  return (MEANINGS as Readonly<Record<string, string>>)[code] ?? "this time could not be fetched";
}
