/** What the code of a gap means, for a reader who does not know the codes. */

import type { ErrorCode } from "../../errors.ts";
import { NOT_FETCHED } from "../../sync/coverage.ts";

const MEANINGS: Partial<Readonly<Record<ErrorCode | typeof NOT_FETCHED, string>>> = {
  [NOT_FETCHED]: "nobody has fetched it to its end yet: it waits, or is being fetched just now",
  "provider-timeout": "the provider did not answer in time, not even for the shortest window",
  "provider-drip": "the provider answered so slowly that the time was over before the end",
  "provider-http-408": "the provider said that it took too long (408)",
  "provider-http-504": "a gateway before the provider gave up waiting (504)",
  "provider-dropped": "the connection was dropped before the answer",
  "provider-cut-short": "the answer broke off in its middle",
  "provider-throttled": "the provider asked for silence (429)",
  "provider-server-error": "the provider failed by itself (5xx)",
  "provider-unreachable": "nobody listens at the provider's address",
  "provider-refused": "the provider refuses the credentials",
  "provider-bad-status": "the provider answered with a status that makes no sense here",
  "provider-rejected": "the provider refused the question: its code was not 0",
  "provider-not-json": "the answer was no JSON",
  "provider-bad-envelope": "the answer was JSON of another shape than agreed",
  "provider-too-large": "the answer was larger than 16 MB",
  "cursor-loop": "the provider's pages went round in circles",
  "cursor-expired": "the provider's place in its list was too old to be trusted",
  "page-limit": "the provider's pages had no end",
};

/** @param code of a gap (`not-fetched`, or of an error); null: it is being tried again, and the last try is forgotten */
export function explainGap(code: string | null): string {
  if (code === null) return "it could not be fetched, and is being tried again just now";
  return (MEANINGS as Readonly<Record<string, string>>)[code] ?? "it could not be fetched";
}
