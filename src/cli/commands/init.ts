/** `recon init`: writes a first config file, and says what is missing. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { isZoneName, systemClock, ZONE_RULE } from "../../clock.ts";
import { configPath, findMissingSettings, readSettings } from "../../config.ts";
import { parseConfig } from "../../config-file.ts";
import { describeError, ReconError } from "../../errors.ts";
import { askProviderOnce } from "../../flows/verify/ask-provider-once.ts";
import { usage } from "../../ops/input/fields.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";
import { type CheckResult, judgeProvider } from "./doctor-checks.ts";

interface InitOptions {
  readonly product?: readonly string[];
  readonly zone?: string;
  readonly json?: boolean;
}

/** Stands in the file until its owner knows the ids: the agent API has no list of products. */
const PLACEHOLDER = "REPLACE-WITH-YOUR-PRODUCT-ID";

export function addInitCommand(program: Command): void {
  program
    .command("init")
    .description("write a first recon.config.json, and say what is missing; an existing file stays as it is")
    .option(
      "--product <product>",
      "the id of a product at the provider; can be repeated",
      (product: string, before: readonly string[] = []) => [...before, product],
    )
    .option("--zone <zone>", "the time zone of your days (closing.zone), such as Asia/Bangkok; default UTC")
    .option("--json", "one JSON document")
    .action(init);
}

async function init(options: InitOptions): Promise<void> {
  const file = configPath();
  if (existsSync(file)) throw alreadyThere(file);
  const { product: products = [], zone = "UTC" } =
    stdin.isTTY && !options.json ? await ask(options) : options;
  if (!isZoneName(zone))
    throw usage(`there is no zone "${zone.slice(0, 60)}"; a zone is ${ZONE_RULE}`, "zone");
  const ids = products.length === 0 ? [PLACEHOLDER] : [...new Set(products)];
  const config = { products: ids.map((productId) => ({ productId })), closing: { zone } };
  checkConfig(config);
  await write(file, `${JSON.stringify(config, null, 2)}\n`);
  const missing = [
    ...(products.length === 0
      ? [`${file}: replace ${PLACEHOLDER} by the ids of your products, which the provider names`]
      : []),
    ...findMissingSettings(),
  ];
  const provider = products.length === 0 ? null : await askProvider();
  if (options.json) printJson({ file, config, missing, provider });
  else printDone(file, missing, provider);
}

/** Asks only for what no option has said. */
async function ask({ product, zone }: InitOptions): Promise<Pick<InitOptions, "product" | "zone">> {
  const terminal = createInterface({ input: stdin, output: stderr });
  // Unlike `question`, this loses no line that is pasted together with the one before.
  const lines = terminal[Symbol.asyncIterator]();
  const answer = async (question: string) => {
    terminal.setPrompt(question);
    terminal.prompt();
    const { value, done } = await lines.next();
    if (done === true) throw usage("nothing was written: the answers ended early");
    return String(value).trim();
  };
  try {
    const typed = product ?? (await answer("Ids of your products, separated by commas: ")).split(",");
    const named = zone ?? (await answer("Time zone of your days, such as Asia/Bangkok [UTC]: "));
    return {
      product: typed.map((one) => one.trim()).filter((one) => one !== ""),
      ...(named === "" ? {} : { zone: named }),
    };
  } finally {
    terminal.close();
  }
}

function checkConfig(config: unknown): void {
  try {
    parseConfig(config);
  } catch (error) {
    throw usage(describeError(error).replaceAll(/\s*\n\s*/g, " "));
  }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw alreadyThere(file);
    throw new ReconError("usage", `${file} cannot be written: ${describeError(error)}`);
  }
}

function alreadyThere(file: string): ReconError {
  return new ReconError("conflict", `${file} exists already and was not changed; "recon doctor" checks it`);
}

/** @returns null: it was not asked, because its address or credentials are missing */
async function askProvider(): Promise<CheckResult | null> {
  try {
    const { provider, config, production } = readSettings(["provider"]);
    if (provider === null || config === null) return null;
    return judgeProvider(await askProviderOnce(provider, config, production, systemClock));
  } catch (error) {
    // The settings are wrong, which is said already.
    if (error instanceof ReconError) return null;
    throw error;
  }
}

function printDone(file: string, missing: readonly string[], provider: CheckResult | null): void {
  printLine(showText(`${file} is written.`));
  if (missing.length > 0) printLine("A worker in production still needs:");
  for (const one of missing) printLine(`  ${showText(one)}`);
  if (provider !== null) {
    printLine(showText(`The provider: ${provider.found}`));
    if (provider.mend !== null) printLine(showText(`  -> ${provider.mend}`));
  }
  printLine(
    'Then run "recon doctor", which checks everything, and "recon worker". docs/settings.md has all settings.',
  );
}
