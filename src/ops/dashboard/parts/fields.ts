/** Fields of several forms. A typed value stays, even without a matching choice. */

import { html, type SafeHtml } from "@remix-run/html-template";

/** A range of a product's time as typed. */
export interface TypedRange {
  readonly product: string;
  readonly from: string;
  readonly to: string;
}

/** Keeps the text fields of a query or a form. Other values count as empty. */
export function typedRangeOf(given: Readonly<Record<string, unknown>>): TypedRange {
  const textOf = (value: unknown) => (typeof value === "string" ? value : "");
  return { product: textOf(given["product"]), from: textOf(given["from"]), to: textOf(given["to"]) };
}

/** @param products the pulled products */
export function renderRangeFields(products: readonly string[], typed: TypedRange): SafeHtml {
  const time = (name: "from" | "to") =>
    html`<label>${name}<input name="${name}" value="${typed[name]}" size="26" required autocomplete="off" placeholder="2026-11-20T10:00:00Z"></label>`;
  return html`${renderSelect("product", "product", typed.product === "" ? (products[0] ?? "") : typed.product, products.map(nameItself))}
${time("from")}
${time("to")}`;
}

export function renderSelect(
  label: string,
  name: string,
  value: string | undefined,
  options: readonly (readonly [string, string])[],
): SafeHtml {
  const known = options.some(([option]) => option === (value ?? ""));
  const shown = known ? options : [...options, nameItself(value ?? "")];
  const rendered = shown.map(
    ([option, text]) =>
      html`<option value="${option}"${option === (value ?? "") ? html` selected` : null}>${text}</option>`,
  );
  return html`<label>${label} <select name="${name}">${rendered}</select></label>`;
}

/** An option whose label is its value. */
export function nameItself(name: string): readonly [string, string] {
  return [name, name];
}
