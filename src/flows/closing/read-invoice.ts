/** Reads the provider's invoice of a month, and checks it against the closed books. Nothing of it is stored. */

import { checkInvoice, type InvoiceCheck, type InvoiceLine } from "../../closing/invoice.ts";
import { ReconError } from "../../errors.ts";
import { type CutLine, cutLines, toUtf8 } from "../../ledger/file-lines.ts";
import { type CsvRow, openCsvReader, readCsvHeader, SEPARATOR_HINT } from "../../ledger/read-csv.ts";
import { type Amount, parseAmount } from "../../money.ts";
import type { FlowContext } from "../context.ts";
import { refuseAltered } from "./closed-facts.ts";
import { readMonth } from "./read-statement.ts";

/** The largest file, also after it was unpacked. An invoice of 10,000 lines has about half of it. */
export const MOST_INVOICE_BYTES = 1024 * 1024;
const MOST_LINES = 10_000;

const NEEDED = ["product", "currency", "turnover", "ggr"] as const;
const COLUMNS = [...NEEDED, "rate", "fee"] as const;
const EXAMPLE = "product,currency,turnover,ggr,rate,fee";

interface Invoice {
  /** at least one; each product and currency once */
  readonly lines: readonly InvoiceLine[];
  /** the names of the columns that were not read */
  readonly ignoredColumns: readonly string[];
}

/**
 * Reads an invoice. Comma, semicolon and tab separate; UTF-16 with a byte order mark and gzip are read too.
 * @throws ReconError `usage` that names the line, the field and the value
 */
async function readInvoice(chunks: AsyncIterable<Uint8Array>): Promise<Invoice> {
  const written: CutLine[] = [];
  for await (const lines of cutLines(limited(toUtf8(limited(chunks), true)))) {
    for (const line of lines) written.push(line);
    if (written.length > MOST_LINES + 2) throw usage(`the file has more than ${MOST_LINES} lines: split it`);
  }
  const [header, ...rest] = SEPARATOR_HINT.test(written[0]?.text ?? "") ? written.slice(1) : written;
  if (header === undefined)
    throw usage(`the file is empty: its first line must name the columns, ${EXAMPLE}`);
  const names = readHeader(header);
  const reader = openCsvReader(readCsvHeader(header));
  const rows = [...rest.flatMap((line) => reader.take(line)), ...reader.end()];
  const seen = new Map<string, number>();
  const lines = rows.flatMap((row) => readRow(row, seen) ?? []);
  if (lines.length === 0)
    throw usage("the file has a header and no line: it must have a line for each product and currency");
  return { lines, ignoredColumns: names.filter((name) => name !== "" && !isColumn(name)) };
}

async function* limited(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MOST_INVOICE_BYTES)
      throw usage(
        `the file is larger than ${MOST_INVOICE_BYTES / 1024 / 1024} MB: an invoice has a line for each product and currency`,
      );
    yield chunk;
  }
}

function isColumn(name: string): boolean {
  return COLUMNS.some((column) => column === name);
}

function readHeader(header: CutLine): readonly string[] {
  if (header.fault !== null) throw usage(`line ${header.line}: ${header.fault}`);
  const { names } = readCsvHeader(header);
  const missing = NEEDED.filter((column) => !names.includes(column));
  if (missing.length > 0) {
    throw usage(
      `line ${header.line}: the column ${missing.join(", ")} is missing; the header must be like ${EXAMPLE} (rate and fee may be left out), but is "${show(header.text)}"`,
    );
  }
  const twice = COLUMNS.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (twice !== undefined) throw usage(`line ${header.line}: the column ${twice} is there twice`);
  return names;
}

/** @param seen the line of each product and currency so far @returns null: the row has nothing but separators */
function readRow(row: CsvRow, seen: Map<string, number>): InvoiceLine | null {
  const { line, fields, fault } = row;
  if (fields === null) throw usage(`line ${line}: ${fault}`);
  const textOf = (name: (typeof COLUMNS)[number]) => (fields[name] ?? "").trim();
  if (Object.values(fields).every((text) => (text ?? "").trim() === "")) return null;
  const productId = textOf("product");
  if (productId === "") throw usage(`line ${line}: product is empty`);
  const currency = textOf("currency");
  if (!/^[A-Z0-9]{2,12}$/.test(currency))
    throw usage(`line ${line}: currency must be a code such as THB, but is "${show(currency)}"`);
  const key = JSON.stringify([productId, currency]);
  const before = seen.get(key);
  if (before !== undefined)
    throw usage(
      `line ${line}: product "${show(productId)}" with currency "${currency}" is in line ${before} already`,
    );
  seen.set(key, line);
  const fee = textOf("fee");
  return {
    line,
    productId,
    currency,
    turnover: readNumber(line, "turnover", textOf("turnover")),
    ggr: readNumber(line, "ggr", textOf("ggr")),
    rate: readRate(line, textOf("rate")),
    fee: fee === "" ? null : readNumber(line, "fee", fee),
    feeDecimals: fee.split(".")[1]?.length ?? 0,
  };
}

/** Without an exponent: a spreadsheet that writes 1.2E+09 has dropped digits. */
const PLAIN = /^-?\d+(?:\.\d+)?$/;

function readNumber(line: number, field: string, text: string): Amount {
  if (!PLAIN.test(text))
    throw usage(`line ${line}: ${field} must be a decimal number such as 1234.50, but is "${show(text)}"`);
  return parseAmount(text, `line ${line}: ${field}`);
}

/** "0.12", or "12%"; null: empty. */
function readRate(line: number, text: string): Amount | null {
  if (text === "") return null;
  const digits = text.replace(/\s*%$/, "");
  const rate = PLAIN.test(digits) ? parseAmount(digits, "rate").times(digits === text ? "1" : "0.01") : null;
  if (rate === null || rate.lt("0") || rate.gt("1"))
    throw usage(
      `line ${line}: rate must be a share from 0 to 1 such as 0.12, or a percentage such as 12%, but is "${show(text)}"`,
    );
  return rate;
}

/** The beginning of a text of the file, without what would move a terminal's cursor. */
function show(text: string): string {
  return text.slice(0, 60).replace(/[\p{Cc}\p{Bidi_Control}]/gu, "?");
}

function usage(message: string): ReconError {
  return new ReconError("usage", message, { fields: [{ name: "file", message }] });
}

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
