/** Every command in the documentation exists, with its options, and the documentation shows every command. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { INCIDENT_QUERY } from "../../src/ops/input/incident-query.ts";
import { LIST_QUERY as MISMATCH_QUERY } from "../../src/ops/input/mismatch-query.ts";
import { LIST_QUERY as REJECTED_QUERY } from "../../src/ops/input/rejected-query.ts";
import { LIST_QUERY as TRANSFER_QUERY } from "../../src/ops/input/transfer-query.ts";
import { blocksOf, codesIn, PAGES, proseOf, ROOT, rowsOf, USER_PAGES } from "./pages.ts";

const program = await createProgram();
const scripts = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts as Record<
  string,
  string
>;

/** Every command that does something, as a user types it: "mismatches list". */
function commandsOf(command: Command, before = ""): string[] {
  return command.commands.flatMap((child) => {
    const name = `${before}${child.name()}`;
    const isItself =
      child.commands.length === 0 || child.registeredArguments.length > 0 || name === "backfill";
    return [...(isItself ? [name] : []), ...commandsOf(child, `${name} `)];
  });
}

/** @returns null if the command exists and takes these options */
function problemOf(typed: string): string | null {
  // Values of options, and what follows in a script, are ignored.
  const words =
    typed
      .split(/\s+(?:<|\||&&|>|2>|#)/)[0]
      ?.split(/\s+/)
      .slice(1) ?? [];
  let command: Command = program;
  for (const word of words) {
    if (word.startsWith("-")) break;
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) {
      const takesMore = command.registeredArguments.length > 0 || /^[A-Z…]/.test(word);
      if (!takesMore) return `${typed}: "${word}" is no command`;
      break;
    }
    command = child;
  }
  const options = words.filter((word) => word.startsWith("--")).map((word) => word.split("=")[0] ?? "");
  const known = [...command.options.map(({ long }) => long), "--help"];
  const unknown = options.filter((option) => !known.includes(option));
  return unknown.length === 0 ? null : `${typed}: there is no ${unknown.join(", ")}`;
}

/** The shell lines of a page, and the text between backticks. */
function shellOf(page: string): string[] {
  const blocks = blocksOf(page).filter(({ language }) => language === "sh" || language === "");
  const lines = blocks.flatMap(({ text }) => text.replaceAll("\\\n", " ").split("\n"));
  return [...lines.map((line) => line.replace(/^\$ /, "").trim()), ...codesIn(proseOf(page))];
}

describe.each(PAGES)("%s", (page) => {
  const shell = shellOf(page).flatMap((line) => line.split(" && "));

  test("shows only commands and options that recon has", () => {
    const shown = shell.filter((line) => /^(?:npx |docker exec CONTAINER )?recon /.test(line));
    const typed = shown.map((line) => line.replace(/^(?:npx |docker exec CONTAINER )/, ""));
    expect(typed.filter((line) => line !== "recon …").flatMap((line) => problemOf(line) ?? [])).toEqual([]);
  });

  test("shows only npm scripts that exist", () => {
    const named = shell.flatMap((line) => /^npm (?:run )?(\S+)/.exec(line)?.[1] ?? []);
    const unknown = named.filter(
      (name) => scripts[name] === undefined && !["ci", "install", "pack"].includes(name),
    );
    expect(unknown).toEqual([]);
  });

  test("names only files that the repository has", () => {
    const named = codesIn(proseOf(page)).filter((code) =>
      /^(?:deploy|bench|test|src|jobs|\.ci)\/[\w./*-]*\w$/.test(code),
    );
    const words = shell.flatMap((line) => line.split(" ")).filter((word) => /^deploy\/\S+$/.test(word));
    const missing = [...named, ...words].filter((path) => globSync(path, { cwd: ROOT }).length === 0);
    expect(missing).toEqual([]);
  });
});

test("an unknown command or option is found", () => {
  expect(problemOf("recon mismatches lst")).toMatch(/"lst" is no command/);
  expect(problemOf("recon status --jsn")).toMatch(/no --jsn/);
  expect(problemOf("recon mismatches show 5 --json")).toBeNull();
});

/** @returns the lines below "Examples:" of its help */
function examplesOf(name: string): string[] {
  const command = name
    .split(" ")
    .reduce((at, word) => at?.commands.find((one) => one.name() === word), program as Command | undefined);
  let help = "";
  command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return (
    /^Examples:\n((?: {2}.*\n?)+)/m
      .exec(help)?.[1]
      ?.trimEnd()
      .split("\n")
      .map((line) => line.trim()) ?? []
  );
}

test.each(commandsOf(program))("--help of %s has examples, which recon understands", (name) => {
  const examples = examplesOf(name);
  expect(examples).not.toEqual([]);
  for (const line of examples) expect(line.startsWith(`recon ${name}`)).toBe(true);
  expect(examples.flatMap((line) => problemOf(line) ?? [])).toEqual([]);
});

test("docs/commands.md has every command of recon", () => {
  const shown = rowsOf("docs/commands.md", "command").flatMap(([cell = ""]) => codesIn(cell));
  const named = shown.map((code) => code.replace(/^recon /, "").replace(/ (?:-|[A-Z]).*$/, ""));
  expect([...new Set(named)].sort()).toEqual(commandsOf(program).sort());
});

test.each([
  ["mismatches", MISMATCH_QUERY],
  ["incidents", INCIDENT_QUERY],
  ["rejected", REJECTED_QUERY],
  ["transfers", TRANSFER_QUERY],
])("the API, the command and docs/commands.md have the same filters of %s", (name, { shape }) => {
  const filters = Object.keys(shape).map(
    (field) => `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
  const list = program.commands
    .find((one) => one.name() === name)
    ?.commands.find((one) => one.name() === "list");
  const forms = ["--json", "--csv"];
  const options = list?.options.flatMap(({ long }) =>
    long === undefined || forms.includes(long) ? [] : long,
  );
  expect(options?.sort()).toEqual(filters.sort());
  const row = rowsOf("docs/commands.md", "command").find(([cell]) => cell === `\`recon ${name} list\``);
  const named = codesIn(row?.[1] ?? "").map((code) => code.split(" ")[0]);
  expect(filters.filter((filter) => !named.includes(filter))).toEqual([]);
});

test("compose.yaml runs only commands and options that recon has", () => {
  const compose = readFileSync(join(ROOT, "compose.yaml"), "utf8");
  const services = compose.split(/^ {2}(?=\w+:\n)/m).filter((text) => text.includes("<<: *recon"));
  const typed = services.map((text) => /command: \[(.*)\]/.exec(text)?.[1]?.replaceAll(",", "") ?? "");
  expect(typed.map((words) => problemOf(`recon ${words}`))).toEqual(typed.map(() => null));
  expect(typed.map((words) => words.split(" ")[0]).sort()).toEqual(["callbacks", "tap", "worker", "worker"]);
});

test("docker compose is shown only with services and profiles that compose.yaml has", () => {
  const compose = readFileSync(join(ROOT, "compose.yaml"), "utf8");
  const lines = USER_PAGES.flatMap(shellOf).filter((line) => line.startsWith("docker compose "));
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    for (const [, profile] of line.matchAll(/--profile (\S+)/g))
      expect(compose).toContain(`profiles: [${profile}]`);
    for (const [, service] of line.matchAll(/--scale (\w+)=|up (\w+)$/g)) {
      if (service !== undefined) expect(compose).toContain(`\n  ${service}:\n`);
    }
  }
  expect(existsSync(join(ROOT, "Dockerfile"))).toBe(true);
});
