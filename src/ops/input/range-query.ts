/** Reads a range of a product's time as typed, with the same names for HTTP and the command line. */

import { parseInstant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { ProductRange } from "../../window.ts";

/**
 * Reads product, from and to.
 * @param productField the name of the product's field
 * @throws ReconError `usage` that names the field and its value
 */
export function readProductRange(
  typed: Readonly<Record<string, unknown>>,
  config: Config,
  productField: "product" | "productId" = "product",
): ProductRange {
  const productId = readText(typed, productField);
  const product = config.products.find((one) => one.productId === productId);
  if (product === undefined) {
    const known = config.products.map((one) => one.productId).join(", ");
    throw usage(`there is no ${productField} "${productId}"; it is one of ${known}`);
  }
  if (product.walletMode === "transfer") {
    throw usage(`${productField} "${productId}" has the wallet mode transfer: nothing is fetched of it`);
  }
  const [from, to] = [readTime(typed, "from"), readTime(typed, "to")];
  if (from >= to) throw usage(`from "${typed["from"]}" is not before to "${typed["to"]}"`);
  return { productId, from, to };
}

/**
 * Refuses unknown fields, which would silently have no effect.
 * @throws ReconError `usage` that names the field
 */
export function checkFields<Typed extends Readonly<Record<string, unknown>>>(
  typed: Typed,
  fields: readonly string[],
): Typed {
  for (const name of Object.keys(typed)) {
    if (!fields.includes(name)) throw usage(`there is no field "${name}"; it is one of ${fields.join(", ")}`);
  }
  return typed;
}

/** @param message names the field and its value */
export function usage(message: string): ReconError {
  return new ReconError("usage", message);
}

function readText(typed: Readonly<Record<string, unknown>>, field: string): string {
  const value = typed[field];
  if (value === undefined) throw usage(`${field} is missing`);
  if (typeof value === "string") return value;
  throw usage(`${field} must be a text, but is ${JSON.stringify(value).slice(0, 60)}`);
}

function readTime(typed: Readonly<Record<string, unknown>>, field: string): number {
  try {
    return parseInstant(readText(typed, field), field);
  } catch (error) {
    throw usage(describeError(error));
  }
}
