/** The workflows against GitHub's own parser, and against what they call. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../docs/pages.ts";

const FOLDER = join(ROOT, ".github/workflows");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

// The parser imports JSON as only bundlers take it.
const hooks = registerHooks({
  resolve: (name, context, next) => {
    const found = next(name, context);
    return name.endsWith(".json") ? { ...found, importAttributes: { type: "json" } } : found;
  },
});
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import(
  "@actions/workflow-parser"
);
hooks.deregister();

async function faultsOf(content: string): Promise<string[]> {
  const result = parseWorkflow({ name: "workflow.yml", content }, new NoOperationTraceWriter());
  if (result.value !== undefined) await convertWorkflowTemplate(result.context, result.value);
  return result.context.errors.getErrors().map(({ message }) => message);
}

describe.each(globSync("*.yml", { cwd: FOLDER }))("%s", (name) => {
  const content = readFileSync(join(FOLDER, name), "utf8");
  const { jobs } = parse(content) as Workflow;
  const lines = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = "" }) => run.split("\n")));

  test("is a workflow to GitHub", async () => {
    expect(await faultsOf(content)).toEqual([]);
  });

  test("takes actions by their commit, with the version beside it, and no secret but the one that GitHub makes for a run", () => {
    const used = Array.from(content.matchAll(/^ *(?:- )?uses: (.*)$/gm), ([, action = ""]) => action);
    expect(used.length).toBeGreaterThan(0);
    for (const action of used) expect(action).toMatch(/^[\w-]+(?:\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const secrets = Array.from(content.matchAll(/secrets\.(\w+)/g), ([, secret]) => secret);
    expect(new Set(secrets).difference(new Set(["GITHUB_TOKEN"]))).toEqual(new Set());
  });

  test("calls scripts and files that exist", () => {
    const called = lines.flatMap((line) => [
      ...Array.from(line.matchAll(/npm run (\S+)/g), ([, script = ""]) => ({ line, ok: script in scripts })),
      ...Array.from(
        line.matchAll(
          /(?:^|[ "])((?:\.ci|bin|test|deploy|node_modules)\/[\w./-]+|compose\.yaml|Dockerfile)/g,
        ),
        ([, path = ""]) => ({
          line,
          ok: existsSync(join(ROOT, path.replace(/\/$/, ""))) || path.endsWith("/"),
        }),
      ),
    ]);
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter(({ ok }) => !ok)).toEqual([]);
  });
});

test("a workflow with a misspelled key is none", async () => {
  const wrong = "on: push\njobs:\n  one:\n    runs_on: ubuntu-24.04\n    steps: []\n";
  expect(await faultsOf(wrong)).not.toEqual([]);
});

test("the supported versions of the documentation are those of the workflow", () => {
  const { jobs } = parse(readFileSync(join(FOLDER, "check.yml"), "utf8"));
  const cells = jobs.stores.strategy.matrix.include as { node: string; postgres: string; redis: string }[];
  const versions = (name: string, list: readonly string[]) =>
    list
      .flatMap((one) => (one.startsWith(`${name}:`) ? [Number(one.split(":")[1])] : []))
      .sort((a, b) => a - b);
  expect(
    versions(
      "postgres",
      cells.map(({ postgres }) => postgres),
    ),
  ).toEqual([14, 15, 16, 17, 18]);
  expect(
    versions(
      "redis",
      cells.map(({ redis }) => redis),
    ),
  ).toEqual([6.2, 7.2, 8]);
  for (const page of ["SECURITY.md", "docs/deploy.md"]) {
    const text = readFileSync(join(ROOT, page), "utf8");
    expect(text).toMatch(/PostgreSQL 14 to 18/);
    expect(text).toMatch(/Redis 6\.2 to 8/);
    expect(text).toMatch(/Node 22\.18/);
  }
});
