/** Which evidence is asked for, over HTTP. */

import { z } from "zod";
import { type EvidenceTarget, MOST_IN_FILE } from "../../flows/read/read-evidence.ts";
import { FILTER, orNull, read, usage } from "./fields.ts";

/** The forms of the file, which are also the endings of its name. */
export const EVIDENCE_FORMATS = ["html", "json", "csv"] as const;
export type EvidenceFormat = (typeof EVIDENCE_FORMATS)[number];

const IDS = /^[1-9]\d{0,14}(,[1-9]\d{0,14})*$/;

export const EVIDENCE_QUERY = z.strictObject({
  id: orNull(
    FILTER.regex(IDS, {
      error: ({ input }) =>
        `id ${JSON.stringify(String(input).slice(0, 60))} is not the id of a mismatch, or several separated by commas`,
    }),
  ).meta({ description: `of mismatches, at most ${MOST_IN_FILE}, separated by commas` }),
  incident: orNull(FILTER).meta({ description: "all mismatches of this incident, instead of ids" }),
  format: z.enum(EVIDENCE_FORMATS).default("json"),
});

/** @throws ReconError `usage` that names the field and its value */
export function readEvidenceQuery(typed: unknown): { target: EvidenceTarget; format: EvidenceFormat } {
  const { id, incident, format } = read(EVIDENCE_QUERY, typed);
  if (id !== null && incident === null) return { target: { ids: id.split(",") }, format };
  if (id === null && incident !== null) return { target: { incident }, format };
  throw usage("give either id or incident");
}
