/** Adds a comment about a mismatch or an incident. A comment changes no status and is never changed. */

import { ReconError } from "../../errors.ts";
import { type Comment, type CommentSubject, insertComment } from "../../mismatches/comment-store.ts";
import type { FlowContext } from "../context.ts";

/** All comments are on one page. */
const MOST_COMMENTS = 500;

export interface NewComment {
  readonly about: CommentSubject;
  /** as typed */
  readonly id: string;
  /** the reviewer who writes */
  readonly by: string;
  readonly note: string;
}

/** @throws ReconError `not-found`; `conflict` if the subject has the most comments already */
export async function addComment(
  { sql, clock }: FlowContext,
  { about, id, by, note }: NewComment,
): Promise<Comment> {
  const isId = /^[1-9]\d{0,14}$/.test(id);
  const said = { at: clock.now(), by, note };
  const added = isId ? await insertComment(sql, about, Number(id), said, MOST_COMMENTS) : "unknown";
  if (added === "unknown") throw new ReconError("not-found", `there is no ${about} "${id.slice(0, 60)}"`);
  if (added === "full") {
    throw new ReconError("conflict", `${about} ${id} has ${MOST_COMMENTS} comments, which is the most`);
  }
  return added;
}
