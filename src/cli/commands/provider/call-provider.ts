/** One manual call of the agent API: opens the client, prints the answer, and closes the client. */

import { stderr } from "node:process";
import { isLosslessNumber, parse, stringify } from "lossless-json";
import { systemClock } from "../../../clock.ts";
import { type Need, type ProviderSettings, readSettings } from "../../../config.ts";
import type { Config } from "../../../config-file.ts";
import { ReconError } from "../../../errors.ts";
import { sendTransfer, type TransferOrder } from "../../../flows/verify/send-transfer.ts";
import { openBudget } from "../../../provider/budget.ts";
import { openProvider, type ProviderClient } from "../../../provider/client.ts";
import type { TransferType } from "../../../transfer.ts";
import { withRecon } from "../../run/run-command.ts";
import { tryOutConfig } from "../../run/try-out-config.ts";
import { printDocument, printLine, printTable, showText } from "../../terminal/print.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Prints the answer, unless the text is not JSON. @returns whether the answer was printed */
function printAnswer(text: string, { json }: { readonly json?: boolean }): boolean {
  let answer: unknown;
  try {
    answer = parse(text);
  } catch {
    return false;
  }
  if (json || !isFields(answer)) printLossless(answer);
  else printForPeople(answer);
  return true;
}

function printLossless(value: unknown): void {
  printDocument(stringify(value, null, 2) ?? "null");
}

function printForPeople({ data, ...envelope }: Fields): void {
  printFields(envelope);
  if (data === null || data === undefined) return;
  printLine();
  const lists = isFields(data) ? Object.entries(data).filter(([, value]) => isTable(value)) : [];
  if (isTable(data)) printRows(data);
  else if (!isFields(data)) printLossless(data);
  else printFields(Object.fromEntries(Object.entries(data).filter(([, value]) => !isTable(value))));
  for (const [name, rows] of lists) {
    printLine(`${showText(name)}:`);
    printRows(rows as Fields[]);
  }
}

function printFields(fields: Fields): void {
  const rows = Object.entries(fields).map(([name, value]) => [name, show(value)]);
  const [first, ...rest] = rows;
  if (first !== undefined) printTable(first, rest);
}

function printRows(rows: readonly Fields[]): void {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) printLine("none");
  else
    printTable(
      names,
      rows.map((row) => names.map((name) => show(row[name]))),
    );
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "-";
  return typeof value === "string" ? value : (stringify(value) ?? "-");
}

function isTable(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.every(isFields);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

export interface CallOptions {
  readonly json?: boolean;
}

interface ProviderAtHand {
  readonly provider: ProviderSettings;
  readonly config: Config;
  readonly production: boolean;
}

/** @throws ReconError `settings-invalid` whose message says how to set a provider */
export function readProvider(needs: readonly Need[] = []): ProviderAtHand {
  const { provider, config, production } = readSettings(["provider", ...needs]);
  if (provider === null) {
    throw new ReconError(
      "settings-invalid",
      'no provider is set: set PROVIDER_BASE_URL, PROVIDER_USERNAME and PROVIDER_PASSWORD. To try it out, "recon sandbox" starts a provider and prints what to set.',
    );
  }
  return { provider, config: config ?? tryOutConfig(), production };
}

/**
 * Prints the answer as far as it is JSON, even of a refusal or of an answer with wrong fields.
 * @throws ReconError `usage` if the request was not sent, otherwise the error of the call
 */
export async function callProvider(
  hand: ProviderAtHand,
  { json }: CallOptions,
  call: (provider: ProviderClient) => Promise<unknown>,
): Promise<void> {
  let last: string | null = null;
  const { requestTimeout, concurrency } = hand.config.pull;
  const limits = {
    requestTimeoutMs: requestTimeout,
    connections: concurrency,
    production: hand.production,
    onAnswer: (text: string) => {
      last = text;
    },
  };
  const provider = openProvider(hand.provider, limits, systemClock);
  try {
    await call(provider);
  } catch (error) {
    throw asUsage(error);
  } finally {
    provider.close();
    if (last !== null) printAnswer(last, json === undefined ? {} : { json });
  }
}

/** Turns an error in the typed values into wrong usage. */
export function asUsage(error: unknown): unknown {
  if (!(error instanceof ReconError) || error.code !== "bad-request") return error;
  return new ReconError("usage", error.message);
}

/** Sends a transfer within the request budget, and records the transfer before sending. */
export async function callTransfer(
  hand: ProviderAtHand,
  options: CallOptions,
  type: TransferType,
  order: TransferOrder,
): Promise<void> {
  const send = withRecon(["database", "provider"], async ({ context: { sql, config, clock } }) => {
    const { concurrency, minInterval, requestTimeout } = config.pull;
    const budget = openBudget(sql, { concurrency, minIntervalMs: minInterval }, requestTimeout, clock);
    const never = new AbortController().signal;
    let isRecorded = false;
    const beforeSending = () => {
      isRecorded = true;
    };
    try {
      await callProvider(hand, options, (provider) =>
        budget.spend(
          "verify",
          () => sendTransfer({ sql, config, clock }, provider, type, order, never, beforeSending),
          never,
          { productId: order.productId },
        ),
      );
    } catch (error) {
      if (isRecorded) {
        stderr.write(
          "recon: the outcome is unknown. The transfer is recorded, and the worker asks until the outcome is known. Do not send the transfer again. " +
            `To see the outcome: recon transfers show ${showText(order.transactionRef)}\n`,
        );
      }
      throw error;
    }
  });
  await send();
}
