/** Checks the provider's invoice of a month against the closed books. Nothing of it is stored. */

import { checkInvoice, type InvoiceCheck } from "../../closing/invoice.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";
import { refuseAltered } from "./closed-facts.ts";
import { readInvoice, show } from "./read-invoice.ts";
import { readMonth } from "./read-statement.ts";

/**
 * @param chunks the CSV file
 * @throws ReconError `usage` that names the line, the field and the value; `conflict` if a closed day was altered
 */
export async function checkInvoiceOf(
  context: FlowContext,
  chunks: AsyncIterable<Uint8Array>,
  asked: Parameters<typeof readMonth>[1],
): Promise<InvoiceCheck> {
  const { lines, ignoredColumns } = await readInvoice(chunks);
  const report = await readMonth(context, asked);
  await refuseAltered(context, report);
  const { products } = context.config;
  const known = new Set(
    [...products, ...report.rows, ...report.corrections].map(({ productId }) => productId),
  );
  const foreign = lines.find(({ productId }) => !known.has(productId));
  if (foreign !== undefined) {
    const message = `line ${foreign.line}: product "${show(foreign.productId)}" is not in the settings, and ${report.month} has no bet of it`;
    throw new ReconError("usage", message, { fields: [{ name: "file", message }] });
  }
  const pulled = new Set(
    products.filter(({ walletMode }) => walletMode === "seamless").map(({ productId }) => productId),
  );
  const { month, zone, open } = report;
  return { month, zone, ...checkInvoice(lines, { ...report, pulled }), open, ignoredColumns };
}
