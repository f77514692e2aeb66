/** The forms of the evidence, by the ending of the file's name. */

import type { Evidence } from "../../flows/read/read-evidence.ts";
import type { EvidenceFormat } from "../input/evidence-query.ts";
import { evidenceAsCsv } from "./evidence-csv.ts";
import { evidenceAsHtml } from "./evidence-html.ts";

const WRITERS: Readonly<Record<EvidenceFormat, (evidence: Evidence) => string>> = {
  html: evidenceAsHtml,
  json: (evidence) => `${JSON.stringify(evidence, null, 2)}\n`,
  csv: evidenceAsCsv,
};

export const TYPE_OF_FORMAT: Readonly<Record<EvidenceFormat, string>> = {
  html: "text/html; charset=utf-8",
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8",
};

export function writeEvidence(evidence: Evidence, format: EvidenceFormat): string {
  return WRITERS[format](evidence);
}
