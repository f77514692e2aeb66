/** Which evidence is asked for, over HTTP. */

import { z } from "zod";
import { type EvidenceTarget, MOST_IN_FILE } from "../../flows/read/read-evidence.ts";
import { FILTER, orNull, read, usage } from "./fields.ts";
import { show } from "./messages.ts";

/** The forms of the file, which are also the endings of its name. */
export const EVIDENCE_FORMATS = ["html", "json", "csv"] as const;
export type EvidenceFormat = (typeof EVIDENCE_FORMATS)[number];

const IDS = /^[1-9]\d{0,14}(,[1-9]\d{0,14})*$/;

export const EVIDENCE_QUERY = z.strictObject({
  id: orNull(
    FILTER.regex(IDS, {
      error: ({ input }) => `id ${show(input)} is not the id of a mismatch, or several separated by commas`,
    }),
  ).meta({ description: `of mismatches, at most ${MOST_IN_FILE}, separated by commas` }),
  incident: orNull(FILTER).meta({ description: "all mismatches of this incident, instead of ids" }),
  part: orNull(
    FILTER.regex(/^[1-9]\d{0,5}$/, {
      error: ({ input }) => `part ${show(input)} is not a whole number from 1 up`,
    }),
  ).meta({
    description: `of an incident with more than ${MOST_IN_FILE} mismatches, from 1; one part has ${MOST_IN_FILE}`,
  }),
  format: z.enum(EVIDENCE_FORMATS).default("json"),
});

/** @throws ReconError `usage` that names the field and its value */
export function readEvidenceQuery(typed: unknown): { target: EvidenceTarget; format: EvidenceFormat } {
  const { id, incident, part, format } = read(EVIDENCE_QUERY, typed);
  if (part !== null && incident === null) throw usage("part needs incident");
  if (id !== null && incident === null) return { target: { ids: id.split(",") }, format };
  if (id === null && incident !== null)
    return { target: { incident, part: part === null ? null : Number(part) }, format };
  throw usage("give either id or incident");
}
