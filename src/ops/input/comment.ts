/** Comments on mismatches and incidents, from the API and from forms. */

import { z } from "zod";
import { read, words } from "./fields.ts";
import { bodyWith } from "./messages.ts";

const LONGEST_COMMENT = 2000;

/** The body of a comment over the API. */
export const COMMENT_FORM = z.strictObject({ note: words(LONGEST_COMMENT) }, bodyWith("a note"));

/** The field of a page: the page also has the note of a decision. */
const TYPED_FORM = z.strictObject({ comment: words(LONGEST_COMMENT) });

/** @throws ReconError `usage` that names the field and its value */
export function readComment(body: unknown): string {
  return read(COMMENT_FORM, body).note;
}

/** @throws ReconError `usage` that names the field and its value */
export function readTypedComment(body: unknown): string {
  return read(TYPED_FORM, body ?? {}).comment;
}
