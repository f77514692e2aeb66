/** Adds a comment that was typed on a page, or says why not. */

import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { addComment, type NewComment } from "../../../flows/mismatches/add-comment.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readTypedComment } from "../../input/comment.ts";
import { type Problem, problemOf } from "../parts/fields.ts";

/** A comment that was refused, so that the page keeps what was typed. */
export interface RefusedComment {
  readonly status: number;
  readonly notice: Notice;
  readonly typed: string;
  readonly problem: Problem;
}

/** @returns null: it was added @throws if its subject does not exist, and every other error */
export async function addTypedComment(
  context: FlowContext,
  subject: Omit<NewComment, "note">,
  body: unknown,
): Promise<RefusedComment | null> {
  try {
    await addComment(context, { ...subject, note: readTypedComment(body) });
    return null;
  } catch (error) {
    const status = statusOfRefusal(error);
    if (status === null || status === 404) throw error;
    const typed = (body as { readonly comment?: unknown } | null)?.comment;
    return {
      status,
      notice: { tone: "bad", text: `Not done: ${describeError(error)}.` },
      typed: typeof typed === "string" ? typed : "",
      problem: problemOf(error),
    };
  }
}
