/** Reads a range of a product's time as typed, with the same names for HTTP and the command line. */

import type { Config } from "../../config-file.ts";
import type { ProductRange } from "../../window.ts";
import { readOneOf, readText, readTime, type Typed, usage } from "./fields.ts";

/**
 * Reads product, from and to.
 * @param productField the name of the product's field
 * @throws ReconError `usage` that names the field and its value
 */
export function readProductRange(
  typed: Typed,
  { products }: Config,
  productField: "product" | "productId" = "product",
): ProductRange {
  const known = products.map((one) => one.productId);
  const productId = readOneOf(productField, readText(typed, productField), known);
  if (products.find((one) => one.productId === productId)?.walletMode === "transfer") {
    throw usage(`${productField} "${productId}" has the wallet mode transfer: nothing is fetched of it`);
  }
  const [from, to] = [readTime(typed, "from"), readTime(typed, "to")];
  if (from >= to) throw usage(`from "${typed["from"]}" is not before to "${typed["to"]}"`);
  return { productId, from, to };
}
