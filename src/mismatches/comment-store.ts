/**
 * The comments of reviewers about mismatches and incidents. One table serves both, and its rows are only added. A
 * comment is no line of the history, which explains changes of status and is read by an undo.
 */

import { type AnswerOf, INSTANT, objectOf, TEXT } from "../answer.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

export type CommentSubject = "mismatch" | "incident";

export const COMMENT = objectOf({ id: TEXT, at: INSTANT, by: TEXT, note: TEXT });
export type Comment = AnswerOf<typeof COMMENT>;

type CommentRow = Omit<Comment, "id" | "at"> & { readonly id: number; readonly at: Instant };

const TABLE_OF = { mismatch: "mismatches", incident: "incidents" } as const;

/**
 * Adds a comment.
 * @param most the most comments of one subject
 * @returns "unknown" if there is no such subject; "full" if it has the most comments already
 */
export async function insertComment(
  sql: Query,
  about: CommentSubject,
  aboutId: number,
  { at, by, note }: { readonly at: Instant; readonly by: string; readonly note: string },
  most: number,
): Promise<Comment | "unknown" | "full"> {
  const [row] = await sql<(Partial<CommentRow> & { isKnown: boolean })[]>`
    with subject as (select id from ${sql(TABLE_OF[about])} where id = ${aboutId}),
    added as (
      insert into comments (about, about_id, at, by, note)
      select ${about}, id, ${at}, ${by}, ${note} from subject
      where (select count(*) from comments where about = ${about} and about_id = ${aboutId}) < ${most}
      returning id, at, by, note
    )
    select exists (select from subject) as "isKnown", added.* from (values (1)) as one left join added on true`;
  if (row === undefined || !row.isKnown) return "unknown";
  const { isKnown: _, ...comment } = row;
  return typeof comment.id === "number" ? toComment(comment as CommentRow) : "full";
}

/** All comments of one subject, the oldest first. */
export async function readComments(sql: Query, about: CommentSubject, aboutId: number): Promise<Comment[]> {
  const rows = await sql<CommentRow[]>`
    select id, at, by, note from comments where about = ${about} and about_id = ${aboutId} order by id`;
  return rows.map(toComment);
}

function toComment({ id, at, by, note }: CommentRow): Comment {
  return { id: String(id), at: formatInstant(at), by, note };
}
