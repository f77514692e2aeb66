/** What people add to a mismatch or an incident: owner, ticket and reminder, and comments; and the forms for them. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { type Instant, localIso, parseInstant, withOffset } from "../../../clock.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { addComment, type NewComment } from "../../../flows/mismatches/act-on-mismatches.ts";
import {
  changeCases,
  changeIncidents,
  type RequestedChange,
} from "../../../flows/mismatches/change-cases.ts";
import type { CaseChangeName } from "../../../mismatches/act.ts";
import type { Comment, CommentSubject } from "../../../mismatches/comment-store.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readTypedComment } from "../../input/fields.ts";
import { readCase } from "../../input/mismatch-action.ts";
import type { CASE_FILTERS } from "../../input/mismatch-query.ts";
import {
  type Problem,
  problemOf,
  renderArea,
  renderInput,
  renderSelect,
  typedFields,
} from "../parts/fields.ts";
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

const CASE_FIELDS = ["owner", "ticket", "withProvider", "remindAt"] as const;
/** The fields of the case forms as typed. */
export type TypedCase = ReturnType<typeof typedFields<typeof CASE_FIELDS>>;

function typedCase(body: unknown): TypedCase {
  return typedFields((body ?? {}) as Readonly<Record<string, unknown>>, CASE_FIELDS);
}

/**
 * Reads a case form: an empty owner is nobody, an empty ticket none, and an empty time no reminder.
 * @param zone of a time without an offset
 * @throws ReconError `usage` that names the field and its value
 */
export function readTypedCase(
  { owner, ticket, withProvider, remindAt }: TypedCase,
  what: CaseChangeName,
  me: string,
  zone: string,
): Omit<RequestedChange, "by"> {
  const orNone = (text: string) => (text.trim() === "" ? null : text);
  const body = {
    assign: { owner: orNone(owner) },
    ticket: { ticket: orNone(ticket), withProvider: withProvider !== "" },
    remind: { remindAt: orNone(remindAt) === null ? null : (withOffset(remindAt, zone) ?? remindAt) },
  };
  return readCase(body[what], what, me);
}

/** A change of a case that was refused, so that the page keeps what was typed. */
interface RefusedCase extends Omit<RefusedComment, "typed"> {
  readonly typed: TypedCase;
}

/** @returns null: it was changed @throws if its subject does not exist, and every other error */
export async function changeTypedCase(
  context: FlowContext,
  { about, id, by }: { readonly about: CommentSubject; readonly id: string; readonly by: string },
  what: CaseChangeName,
  form: { readonly body: unknown; readonly zone: string },
): Promise<RefusedCase | null> {
  const typed = typedCase(form.body);
  try {
    const requested = { ...readTypedCase(typed, what, by, form.zone), by };
    if (about === "mismatch") await changeCases(context, { ids: [id] }, requested);
    else await changeIncidents(context, { ids: [id] }, requested);
    return null;
  } catch (error) {
    const status = statusOfRefusal(error);
    if (status === null || status === 404) throw error;
    const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
    return { status, notice, typed, problem: problemOf(error) };
  }
}

/** Who works on it, and what they wait for. Times are ISO 8601. */
interface ShownCase {
  readonly owner: string | null;
  readonly ticket: string | null;
  readonly withProvider: string | null;
  readonly remindAt: string | null;
}

interface CaseSection {
  /** of a change: the path of the form, with the query that the way back needs */
  readonly actionOf: (what: CaseChangeName) => string;
  readonly of: ShownCase;
  readonly mayAct: boolean;
  /** the name of the visitor */
  readonly me: string;
  /** what was typed in a form that was refused; null: nothing was */
  readonly typed: TypedCase | null;
  readonly problem: Problem | null;
  readonly zone: string;
  readonly now: Instant;
}

export function renderCase({ actionOf, of, mayAct, me, typed, problem, zone, now }: CaseSection): SafeHtml {
  const shown = typed ?? {
    owner: of.owner ?? "",
    ticket: of.ticket ?? "",
    withProvider: of.withProvider === null ? "" : "true",
    remindAt: of.remindAt === null ? "" : typedLocal(of.remindAt, zone),
  };
  const mine = html`<form method="post" action="${actionOf("assign")}" id="assign-me"><input type="hidden" name="owner" value="me"><button>Assign to me</button></form>`;
  const forms = html`${of.owner === me ? null : mine}
<details${typed === null ? null : html` open`}><summary>Change owner, ticket or reminder</summary>
${renderCaseForms(actionOf, shown, problem, null)}</details>`;
  return html`<section class="sheet" aria-labelledby="case-head"><h2 id="case-head">Who works on it</h2>
<p>${sayCase(of, zone, now)}</p>
${mayAct ? forms : null}</section>`;
}

/** The three forms: each changes one thing. @param hidden fields of each; null: none */
export function renderCaseForms(
  actionOf: (what: CaseChangeName) => string,
  { owner, ticket, withProvider, remindAt }: TypedCase,
  problem: Problem | null,
  hidden: ((what: CaseChangeName) => SafeHtml) | null,
): SafeHtml {
  const form = (what: CaseChangeName, fields: SafeHtml) =>
    html`<form method="post" action="${actionOf(what)}" id="${what}" class="fields">${hidden?.(what) ?? null}${fields}</form>
`;
  return html`${form(
    "assign",
    html`${renderInput({ label: "Owner", name: "owner", value: owner, problem }, html`size="16" maxlength="200" autocomplete="off" placeholder="nobody"`)}
<button class="quiet">Assign</button>`,
  )}
${form(
  "ticket",
  html`${renderInput({ label: "Ticket at the provider", name: "ticket", value: ticket, problem }, html`size="16" maxlength="200" autocomplete="off"`)}
<label class="check"><input type="checkbox" name="withProvider" value="true"${withProvider === "" ? null : html` checked`}>The provider is to answer</label>
<button class="quiet">Save the ticket</button>`,
)}
${form(
  "remind",
  html`${renderInput({ label: "Remind", name: "remindAt", value: remindAt, problem }, html`size="20" autocomplete="off" placeholder="2026-11-20 10:00"`)}
<button class="quiet">Save the reminder</button>`,
)}`;
}

/** "2026-11-20 10:00", as a form has it. */
function typedLocal(at: string, zone: string): string {
  return localIso(parseInstant(at, "time"), zone)
    .replace("T", " ")
    .replace(/(:00)?\.000$/, "");
}

/**
 * "mia, ticket PRV-12, with the provider since …, reminder … (due)".
 * @param listOf the path of a list of what this owner works on; null: the name leads nowhere
 */
export function sayCase(
  { owner, ticket, withProvider, remindAt }: ShownCase,
  zone: string,
  now: Instant | null,
  listOf: ((owner: string) => string) | null = null,
): SafeHtml {
  const name = owner !== null && listOf !== null ? html`<a href="${listOf(owner)}">${owner}</a>` : owner;
  const isDue = remindAt !== null && now !== null && parseInstant(remindAt, "time") <= now;
  return html`${name ?? html`<span class="faint">nobody</span>`}${ticket === null ? null : html`, <span class="faint">ticket</span> ${ticket}`}${withProvider === null ? null : html`, <span class="faint">with the provider since</span> ${showTime(withProvider, zone)}`}${remindAt === null ? null : html`, <span class="faint">reminder</span> ${showTime(remindAt, zone)}`}${isDue ? html` <strong>due</strong>` : null}`;
}

/** The filters of both lists by owner, reminder and provider. */
export function renderCaseFilters(
  { owner, due, withProvider }: { readonly [Name in keyof typeof CASE_FILTERS]?: string | undefined },
  problem: Problem | null,
): SafeHtml {
  const known = [
    ["", "all"],
    ["me", "mine"],
    ["nobody", "nobody's"],
  ] as const;
  const dues = [
    ["", "all"],
    ["true", "due"],
    ["false", "not due"],
  ] as const;
  const awaited = [
    ["", "all"],
    ["true", "awaited"],
    ["false", "not awaited"],
  ] as const;
  return html`${renderSelect({ label: "Owner", name: "owner", value: owner, problem }, known)}
${renderSelect({ label: "Reminder", name: "due", value: due, problem }, dues)}
${renderSelect({ label: "Provider's answer", name: "withProvider", value: withProvider, problem }, awaited)}`;
}
