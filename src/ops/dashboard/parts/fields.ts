/** Fields of all forms, also of those with a file. A refused form keeps the typed values, with each problem next to its field. */

import type { IncomingMessage } from "node:http";
import { html, type SafeHtml } from "@remix-run/html-template";
import { localIso, parseInstant } from "../../../clock.ts";
import { describeError, ReconError, type WrongField } from "../../../errors.ts";
import { inFieldOf } from "./zone.ts";

/** What is wrong with a form. */
export interface Problem {
  readonly text: string;
  /** none: the problem is not about single fields */
  readonly fields: readonly WrongField[];
}

export function problemOf(error: unknown): Problem {
  return { text: describeError(error), fields: error instanceof ReconError ? error.fields : [] };
}

/** The problem as a line of its own, unless it stands next to fields. @param names of the form's fields */
export function renderProblem(problem: Problem | null, names: readonly string[]): SafeHtml | null {
  if (problem === null) return null;
  const isNextToField = problem.fields.some(({ name }) => names.includes(name));
  return isNextToField ? null : html`<p class="problem" role="alert">${problem.text}</p>`;
}

export interface Field {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
  readonly problem: Problem | null;
}

/** @param more attributes of the input */
export function renderInput(field: Field, more: SafeHtml): SafeHtml {
  const { label, name, value } = field;
  return frame(
    field,
    html`<label>${label} <input name="${name}" value="${value ?? ""}"${refer(field)} ${more}></label>`,
  );
}

export function renderArea(field: Field, more: SafeHtml): SafeHtml {
  const { label, name, value } = field;
  return frame(
    field,
    html`<label class="note">${label} <textarea name="${name}"${refer(field)} ${more}>${value ?? ""}</textarea></label>`,
    "field note",
  );
}

/** A time of the person's zone, or with an offset. @param isRequired whether the form needs it */
export function renderTimeField(field: Field, isRequired = false): SafeHtml {
  const required = isRequired ? html` required` : null;
  return renderInput(field, html`size="24" autocomplete="off" placeholder="2026-11-20 10:00"${required}`);
}

/** A time as a filter. A browser's time field hides values that it cannot parse, so such values get a text field. */
export function renderTimePicker(field: Field, zone: string): SafeHtml {
  const { value = "" } = field;
  const picker = html`type="datetime-local" step="any"`;
  if (value === "") return renderInput(field, picker);
  try {
    const local = localIso(parseInstant(value, "time"), zone).replace(/(:00)?\.000$/, "");
    return renderInput({ ...field, value: local }, picker);
  } catch {
    return renderInput(field, html`size="22"`);
  }
}

/** A typed value stays, even without a matching choice. */
export function renderSelect(field: Field, options: readonly (readonly [string, string])[]): SafeHtml {
  const { label, name, value = "" } = field;
  const known = options.some(([option]) => option === value);
  const shown = known ? options : [...options, nameItself(value)];
  const rendered = shown.map(
    ([option, text]) =>
      html`<option value="${option}"${option === value ? html` selected` : null}>${text}</option>`,
  );
  return frame(
    field,
    html`<label>${label} <select name="${name}"${refer(field)}>${rendered}</select></label>`,
  );
}

/** An option whose label is its value. */
export function nameItself(name: string): readonly [string, string] {
  return [name, name];
}

/** Fields as typed, by their names; an empty one was not filled in. */
export type TypedFields<Names extends readonly string[]> = Readonly<Record<Names[number], string>>;

/** The text fields of a query or a form. Other values count as empty. */
export function typedFields<const Names extends readonly string[]>(
  given: Readonly<Record<string, unknown>>,
  names: Names,
): TypedFields<Names> {
  const texts = names.map((name) => [name, typeof given[name] === "string" ? given[name] : ""]);
  return Object.fromEntries(texts) as TypedFields<Names>;
}

export const RANGE_FIELDS = ["product", "from", "to"] as const;
/** A range of a product's time as typed. */
export type TypedRange = TypedFields<typeof RANGE_FIELDS>;

/** @param products the pulled products @param zone of the times; if something is wrong, they stay as typed */
export function renderRangeFields(
  products: readonly string[],
  typed: TypedRange,
  problem: Problem | null,
  zone: string,
): SafeHtml {
  const timeOf = (text: string) => (problem === null ? inFieldOf(text, zone) : text);
  const product = typed.product === "" ? (products[0] ?? "") : typed.product;
  const field = (name: keyof TypedRange, value: string): Field => ({ label: name, name, value, problem });
  return html`${renderSelect(field("product", product), products.map(nameItself))}
${renderTimeField(field("from", timeOf(typed.from)), true)}
${renderTimeField(field("to", timeOf(typed.to)), true)}`;
}

function frame(field: Field, label: SafeHtml, of = "field"): SafeHtml {
  const wrong = wrongOf(field);
  if (wrong === null) return html`<div class="${of}">${label}</div>`;
  const said = sayWithLabel(wrong.message, field);
  return html`<div class="${of}">${label}<p class="problem" role="alert" id="${idOf(field)}">${said}</p></div>`;
}

/** Any clear time is accepted here, because an address gets the offset of the person's zone. */
const RULE_OF_TIMES = /must be a date-time with an offset such as \S+?(?=,|$)/;

/** The message with the field's label instead of its parameter name. */
export function sayWithLabel(message: string, { name, label }: Pick<Field, "name" | "label">): string {
  const said = message.replace(RULE_OF_TIMES, "must be a time such as 2026-11-20 10:00");
  return said.startsWith(`${name} `) ? `“${label}” ${said.slice(name.length + 1)}` : said;
}

function refer(field: Field): SafeHtml | null {
  return wrongOf(field) === null ? null : html` aria-invalid="true" aria-describedby="${idOf(field)}"`;
}

function wrongOf({ name, problem }: Field): WrongField | null {
  return problem?.fields.find((one) => one.name === name) ?? null;
}

function idOf({ name }: Field): string {
  return `wrong-${name}`;
}

/** What a form has besides its file: names, and what separates the parts. */
const MOST_AROUND = 64 * 1024;

/**
 * @param type the content type, which names what separates the parts of the form
 * @param mostBytes of the file
 */
export async function readForm(
  payload: IncomingMessage,
  type: string,
  mostBytes: number,
): Promise<FormData | "too-large" | "unreadable"> {
  const body = await readAtMost(payload, mostBytes + MOST_AROUND);
  if (body === null) return "too-large";
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  } catch (error) {
    if (error instanceof TypeError) return "unreadable";
    throw error;
  }
}

/** @returns null: there is more */
async function readAtMost(payload: IncomingMessage, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
  }
  return bytes > most ? null : Buffer.concat(chunks);
}
