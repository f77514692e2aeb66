/** Actions on mismatches, and changes of cases, with the same names for HTTP and the command line. */

import { z } from "zod";
import type { Instant } from "../../clock.ts";
import { ReconError, type WrongField } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import type { MismatchTarget, RequestedAction } from "../../flows/mismatches/act-on-mismatches.ts";
import type { IncidentTarget, RequestedChange } from "../../flows/mismatches/change-cases.ts";
import { MISMATCH_STATUSES, NOBODY } from "../../mismatch.ts";
import type { Adjustment, CaseChange, CaseChangeName, MismatchAction } from "../../mismatches/act.ts";
import { RESOLVED_BY_RECON } from "../../mismatches/transitions.ts";
import { formatAmount, parseAmount, ZERO } from "../../money.ts";
import { amountIn, FLAG, orNull, read, TEXT, type Typed, timeIn, usage, words } from "./fields.ts";
import { checkIncidentChoice, INCIDENT_CHOICE } from "./incident-query.ts";
import { bodyWith, fieldOf, must, show } from "./messages.ts";
import { CHOICE, CHOICES, checkChoice, nameOf } from "./mismatch-query.ts";

const LONGEST_NOTE = 2000;
const LONGEST_REF = 200;
const MOST_IDS = 10_000;

const BODY = bodyWith("a note");

const RESOLVE_FORM = z.strictObject(
  {
    note: words(LONGEST_NOTE),
    from: orNull(z.enum(MISMATCH_STATUSES, must(`be one of ${MISMATCH_STATUSES.join(", ")}`))).meta({
      description: "the status that you saw: 409 if it has changed since",
    }),
    adjustment: amountIn(TEXT, readCorrection)
      .meta({ description: "a manual correction, signed; positive: the player received it" })
      .optional(),
    ref: words(LONGEST_REF).optional(),
  },
  BODY,
);
/** Only a resolution has a correction. */
const OTHER_FORM = RESOLVE_FORM.omit({ adjustment: true, ref: true });
/** Who takes up a mismatch has nothing to say about it yet. */
const ACK_FORM = OTHER_FORM.extend({ note: words(LONGEST_NOTE).optional() });

/** The body of an action on one mismatch. */
export function actionForm(action: MismatchAction) {
  if (action === "ack") return ACK_FORM;
  return action === "resolve" ? RESOLVE_FORM : OTHER_FORM;
}

const IDS = must(`be a list of 1 to ${MOST_IDS} ids`);

/** The fields that name those that a change of many is about. */
function targetOf<Choice extends z.ZodType>(choice: Choice) {
  return {
    ids: z
      .array(z.string({ error: ({ input }) => `ids must be text, but one is ${show(input)}` }), IDS)
      .min(1, IDS)
      .max(MOST_IDS, IDS)
      .optional(),
    filter: choice.meta({ minProperties: 1 }).optional(),
    dryRun: FLAG.meta({ description: "only count them" }),
  };
}
const TARGET = targetOf(CHOICE);

/** The body of an action on many. */
export function bulkForm(action: MismatchAction) {
  const { note, ...rest } = actionForm(action).shape;
  return z
    .strictObject({ ...TARGET, note: z.optional(note), ...rest }, BODY)
    .meta({ oneOf: [{ required: ["ids"] }, { required: ["filter"] }] });
}

const LONGEST_NAME = 200;

/** A name or a ticket: one line. */
const ONE_LINE = words(LONGEST_NAME)
  // An invisible character makes two names that look alike. U+FFFD stands for bytes that were no text.
  .refine((text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/u.test(text), {
    error: (issue) => `${fieldOf(issue)} has a character that is no text, such as a line break`,
  })
  .transform((text) => text.trim());

/** The bodies of the changes of a case. */
const CASE_FORMS = {
  assign: z.strictObject(
    {
      owner: z.nullable(ONE_LINE).meta({
        description: `the person who works on it; me: the caller; null or ${NOBODY}: nobody`,
      }),
      note: words(LONGEST_NOTE).optional(),
    },
    bodyWith("an owner"),
  ),
  ticket: z.strictObject(
    {
      ticket: z.nullable(ONE_LINE).optional().meta({
        description: "the provider's ticket; null: none; absent: as it is",
      }),
      withProvider: z.boolean().optional().meta({
        description:
          "whether an answer of the provider is awaited; default: true with a ticket, false without one",
      }),
      note: words(LONGEST_NOTE).optional(),
    },
    bodyWith("a ticket"),
  ),
  remind: z.strictObject(
    {
      remindAt: z.nullable(timeIn(TEXT)).meta({ description: "in the future; null: no reminder" }),
      note: words(LONGEST_NOTE).optional(),
    },
    bodyWith("a time"),
  ),
} as const;

/** The body of a change of one case. */
export function caseForm(what: CaseChangeName) {
  return CASE_FORMS[what];
}

const ONE_TARGET = { oneOf: [{ required: ["ids"] }, { required: ["filter"] }] };
function bulkCaseForms<Choice extends z.ZodType>(choice: Choice) {
  const target = targetOf(choice);
  return {
    assign: CASE_FORMS.assign.extend(target).meta(ONE_TARGET),
    ticket: CASE_FORMS.ticket.extend(target).meta(ONE_TARGET),
    remind: CASE_FORMS.remind.extend(target).meta(ONE_TARGET),
  } as const;
}

/** The bodies of the changes of many. */
export const BULK_CASE_FORMS = bulkCaseForms(CHOICE);
export const INCIDENT_CASE_FORMS = bulkCaseForms(INCIDENT_CHOICE);

/**
 * Reads a change of a case.
 * @param me the name of the person who asks for it
 * @throws ReconError `usage` that names the field and its value
 */
export function readCase(typed: unknown, what: CaseChangeName, me: string): Omit<RequestedChange, "by"> {
  const { note = null, ...said } = readCaseBody(typed, what);
  return { change: toChange(said, me), note };
}

type ReadCase =
  | { readonly what: "assign"; readonly owner: string | null }
  | {
      readonly what: "ticket";
      readonly ticket?: string | null | undefined;
      readonly withProvider?: boolean | undefined;
    }
  | { readonly what: "remind"; readonly remindAt: Instant | null };

function readCaseBody(
  typed: unknown,
  what: CaseChangeName,
): ReadCase & { readonly note?: string | undefined } {
  if (what === "assign") return { what, ...read(CASE_FORMS.assign, typed) };
  return what === "ticket"
    ? { what, ...read(CASE_FORMS.ticket, typed) }
    : { what, ...read(CASE_FORMS.remind, typed) };
}

/** @throws ReconError `usage` if the name would be taken for another */
function checkName(owner: string | null): void {
  const written = owner?.toLowerCase();
  if (written === RESOLVED_BY_RECON) throw usage(`owner "${owner}" is the name of this program`, "owner");
  const isMeant = (written === "me" || written === NOBODY) && owner !== written;
  if (isMeant) throw usage(`owner "${owner}" is written "${written}"`, "owner");
}

function toChange(said: ReadCase, me: string): CaseChange {
  if (said.what === "remind") return { what: "remind", remindAt: said.remindAt };
  if (said.what === "assign") {
    checkName(said.owner);
    const owner = said.owner === null ? NOBODY : nameOf(said.owner, me);
    return { what: "assign", owner: owner === NOBODY ? null : owner };
  }
  const { ticket, withProvider } = said;
  if (ticket === undefined && withProvider === undefined) throw usage("ticket is missing", "ticket");
  return { what: "ticket", ticket, isWithProvider: withProvider ?? typeof ticket === "string" };
}

/**
 * Reads a change of many mismatches.
 * @throws ReconError `usage` that names the field and its value
 */
export async function readBulkCase(
  context: FlowContext,
  what: CaseChangeName,
  body: unknown,
  me: string,
): Promise<Omit<RequestedChange, "by"> & { readonly target: MismatchTarget; readonly isDryRun: boolean }> {
  const { ids, filter, dryRun: isDryRun, ...rest } = read(BULK_CASE_FORMS[what], body);
  const target = await readTarget(context, { ids, filter }, filterIn(body), me);
  const { note = null, ...said } = rest;
  return { change: toChange({ what, ...said } as ReadCase, me), note, target, isDryRun };
}

/**
 * Reads a change of many incidents.
 * @throws ReconError `usage` that names the field and its value
 */
export async function readIncidentsCase(
  context: FlowContext,
  what: CaseChangeName,
  body: unknown,
  me: string,
): Promise<Omit<RequestedChange, "by"> & { readonly target: IncidentTarget; readonly isDryRun: boolean }> {
  const { ids, filter, dryRun: isDryRun, ...rest } = read(INCIDENT_CASE_FORMS[what], body);
  const typed = filterIn(body);
  const chosen = oneTarget({ ids, filter }, typed, Object.keys(INCIDENT_CHOICE.shape));
  const target =
    "ids" in chosen ? chosen : { filter: await checkIncidentChoice(context, typed ?? {}, chosen.filter, me) };
  const { note = null, ...said } = rest;
  return { change: toChange({ what, ...said } as ReadCase, me), note, target, isDryRun };
}

/** The filter of a body as typed. */
function filterIn(body: unknown): Typed | undefined {
  return (body as { readonly filter?: Typed }).filter;
}

type Read = Omit<z.output<typeof RESOLVE_FORM>, "note"> & { readonly note?: string | null | undefined };
type Said = Pick<RequestedAction, "note" | "expected" | "adjustment">;

/**
 * Reads note, from, adjustment and ref.
 * @throws ReconError `usage` that names the field and its value
 */
export function readAction(typed: unknown, action: MismatchAction = "resolve"): Said {
  const missing = findMissingHalf((typed ?? {}) as Typed);
  try {
    const said = read(actionForm(action), action === "ack" ? (typed ?? {}) : typed);
    if (missing !== null) throw usage(missing.message, missing.name);
    return toSaid(said);
  } catch (refusal) {
    if (missing === null || !(refusal instanceof ReconError)) throw refusal;
    if (refusal.fields.some(({ name }) => name === missing.name)) throw refusal;
    const fields = [...refusal.fields, missing];
    throw new ReconError(refusal.code, refusal.message, { cause: refusal, fields });
  }
}

/**
 * Reads an action on many.
 * @throws ReconError `usage` that names the field and its value
 */
export async function readBulk(
  context: FlowContext,
  action: MismatchAction,
  body: unknown,
  me: string,
): Promise<Omit<RequestedAction, "by"> & { readonly isDryRun: boolean }> {
  const asked = read(bulkForm(action), body);
  const target = await readTarget(context, asked, filterIn(body), me);
  // A dry run only counts, so it needs no note yet.
  const { dryRun: isDryRun, note } = asked;
  if (note === undefined && !isDryRun && action !== "ack") throw usage("note is missing");
  const missing = findMissingHalf(asked);
  if (missing !== null) throw usage(missing.message, missing.name);
  const said = toSaid(asked);
  checkAdjustedOnce(said.adjustment, "ids" in target ? target.ids : null);
  return { action, target, ...said, isDryRun };
}

/** A correction belongs to one mismatch. @throws ReconError `usage` if there are several */
export function checkAdjustedOnce(adjustment: Adjustment | null, ids: readonly string[] | null): void {
  if (adjustment !== null && ids?.length !== 1) {
    throw usage("adjustment belongs to a single mismatch: give exactly one id with it");
  }
}

async function readTarget(
  context: FlowContext,
  { ids, filter }: Pick<z.output<ReturnType<typeof bulkForm>>, "ids" | "filter">,
  typed: Typed | undefined,
  me: string,
): Promise<MismatchTarget> {
  const chosen = oneTarget({ ids, filter }, typed, CHOICES);
  if ("ids" in chosen) return chosen;
  return { filter: await checkChoice(context, typed ?? {}, chosen.filter, me), shown: null };
}

/** @param names of the filters @throws ReconError `usage` if there are both, neither, or an empty filter */
function oneTarget<Filter>(
  { ids, filter }: { readonly ids: readonly string[] | undefined; readonly filter: Filter | undefined },
  typed: Typed | undefined,
  names: readonly string[],
): { readonly ids: readonly string[] } | { readonly filter: Filter } {
  if (ids !== undefined && filter === undefined) return { ids };
  if (ids !== undefined || filter === undefined) throw usage("give either ids or filter");
  if (typed === undefined || Object.keys(typed).length === 0)
    throw usage(`filter is empty: name one of ${names.join(", ")}`);
  return { filter };
}

/** A correction needs its reference, and the reference a correction. */
function findMissingHalf({ adjustment, ref }: Typed): WrongField | null {
  if ((adjustment === undefined) === (ref === undefined)) return null;
  return adjustment === undefined
    ? { name: "adjustment", message: "adjustment is missing: a ref needs one" }
    : { name: "ref", message: "ref is missing: an adjustment needs one, so it cannot count twice" };
}

function toSaid({ note = null, from, adjustment: amount, ref }: Read): Said {
  const adjustment = amount === undefined || ref === undefined ? null : { amount, ref };
  return { note, expected: from, adjustment };
}

function readCorrection(text: string, field: string): string {
  const amount = parseAmount(text, field);
  if (amount.eq(ZERO)) throw usage(`${field} "${text}" corrects nothing`, field);
  return formatAmount(amount);
}
