/** Comments, and the form for another one. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Comment } from "../../../mismatches/comment-store.ts";
import { type Problem, renderArea } from "../parts/fields.ts";
import { showTime } from "../parts/show.ts";

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
