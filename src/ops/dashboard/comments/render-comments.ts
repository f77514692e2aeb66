/** Comments, and the form for another one. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { addComment, type NewComment } from "../../../flows/mismatches/act-on-mismatches.ts";
import type { Comment } from "../../../mismatches/comment-store.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readTypedComment } from "../../input/fields.ts";
import { type Problem, problemOf, renderArea } from "../parts/fields.ts";
import { showTime } from "../parts/show.ts";

/** A comment that was refused, so that the page keeps what was typed. */
interface RefusedComment {
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

interface Comments {
  /** the path of what they are about, with the query that the way back needs */
  readonly action: string;
  readonly comments: readonly Comment[];
  readonly mayAct: boolean;
  /** what was typed in a form that was refused; null: nothing was */
  readonly typed: string | null;
  readonly problem: Problem | null;
  readonly zone: string;
}

export function renderComments({ action, comments, mayAct, typed, problem, zone }: Comments): SafeHtml {
  const items = comments.map(
    ({ id, at, by, note }) =>
      html`<li id="comment-${id}"><p class="faint"><strong>${by}</strong> ${showTime(at, zone)}</p><p class="words">${note}</p></li>
`,
  );
  const form = html`<form method="post" action="${action}" id="comment">
${renderArea({ label: "Comment", name: "comment", value: typed ?? "", problem }, html`rows="2" required`)}
<p class="row"><button class="quiet">Add the comment</button> <span class="faint">It changes no status, and stays as it is.</span></p>
</form>`;
  return html`<section class="sheet" aria-labelledby="comments-head"><h2 id="comments-head">Comments</h2>
${items.length === 0 ? html`<p class="faint">No comments yet.</p>` : html`<ol class="comments">${items}</ol>`}
${mayAct ? form : null}</section>`;
}
