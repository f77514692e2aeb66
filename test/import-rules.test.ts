/**
 * The rules of the house, as a test: who may import whom, and what is done in one place only. The reasons are in
 * src/README.md. Each rule stands with an example that breaks it, which the test must find.
 */

import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** Beside itself, what each folder may import; "words" are the files of src itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  words: [],
  db: ["words"],
  provider: ["words", "db"],
  sync: ["words", "db"],
  ledger: ["words", "db"],
  callbacks: ["words", "db", "ledger"],
  tap: ["words", "callbacks"],
  diff: ["words", "db"],
  mismatches: ["words", "db"],
  verify: ["words", "db"],
  alerts: ["words", "db"],
  access: ["words", "db"],
  work: ["words", "db"],
  sandbox: ["words"],
  embedded: ["words"],
  flows: [
    "words",
    "db",
    "provider",
    "sync",
    "ledger",
    "callbacks",
    "tap",
    "diff",
    "mismatches",
    "verify",
    "alerts",
    "access",
    "work",
    "sandbox",
    "embedded",
  ],
  library: ["everything below"],
  jobs: ["everything below"],
  ops: ["everything below"],
  cli: ["everything below", "jobs", "ops"],
};
const ENTRANCES: readonly string[] = ["library", "jobs", "ops", "cli"];

/** What is done in one place only. */
interface OnePlace {
  readonly rule: string;
  /** what it looks like where it is done */
  readonly done: RegExp;
  readonly places: RegExp;
  /** a line that breaks the rule anywhere else */
  readonly broken: string;
}

const ONE_PLACE: readonly OnePlace[] = [
  {
    rule: "only jobs/ knows BullMQ and ioredis",
    done: /from "(?:bullmq|ioredis)["/]/,
    places: /^jobs\//,
    broken: 'import { Queue } from "bullmq";',
  },
  {
    rule: "only provider/ and the alert channels know got",
    done: /from "got["/]/,
    places: /^src\/(?:provider|alerts)\//,
    broken: 'import got from "got";',
  },
  {
    rule: "only db/, embedded/ and the stores speak SQL",
    done: /from "(?:postgres|pg|drizzle-orm)["/]|\b(?:sql|tx)(?:<[^`]*>)?`|\.unsafe[(<]/,
    places: /^src\/(?:db|embedded)\/|\/(?:[\w-]+-)?store\.ts$/,
    broken: "const rows = await tx<{ id: number }[]>`select 1`;",
  },
  {
    rule: "only config.ts reads the environment",
    done: /\bprocess\.env\b|import \{[^}]*\benv\b[^}]*\} from "node:process"/,
    places: /^src\/config\.ts$/,
    broken: "if (process.env.DEBUG) debug();",
  },
  {
    // The embedded servers are run from the tests' set-up and by a process of their own; nothing in them is business.
    rule: "only clock.ts knows the time, and embedded/, which has no clock",
    done: /\bDate\.now\b|\bnew Date\(\)|\bDateTime\.(?:now|local|utc)\(\)/,
    places: /^src\/(?:clock\.ts$|embedded\/)/,
    broken: "const now = new Date();",
  },
  {
    rule: "only the config of a tool has a default export",
    done: /^export default\b|\bas default\b/m,
    places: /^[\w-]+\.config\.ts$/,
    broken: "export default function run() {}",
  },
  {
    rule: "nothing is any",
    done: /(?:[:<,|&(=]|\bas)\s*any\s*(?:[[\],;)>=|&{}]|$)/m,
    places: /^$/,
    broken: "function read(text: string): any {}",
  },
];

interface SourceFile {
  /** below the root, with slashes */
  readonly path: string;
  /** without comments */
  readonly text: string;
}

const files = globSync(["src/**/*.ts", "jobs/**/*.ts", "*.config.ts"], { cwd: ROOT }).map((path) => ({
  path: path.replaceAll("\\", "/"),
  text: withoutComments(readFileSync(join(ROOT, path), "utf8")),
}));

function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/(?:^|\s)\/\/ .*$/gm, "");
}

/** "words", or the folder of src, or "jobs". */
function folderOf(path: string): string {
  const [top = "", second = ""] = path.split("/");
  if (top !== "src") return top;
  return second.endsWith(".ts") ? "words" : second;
}

/** Every import, type-only ones too, of another file of this project, as a path below the root. */
function importsOf({ path, text }: SourceFile): string[] {
  const found = text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g);
  return Array.from(found, ([, target = ""]) => join(dirname(path), target).replaceAll("\\", "/"));
}

/** @returns a line for each import that the table does not allow */
function forbiddenImports(of: readonly SourceFile[], folder: string): string[] {
  const allowed = MAY_IMPORT[folder] ?? [];
  const mayImport = (other: string) =>
    other === folder ||
    allowed.includes(other) ||
    (allowed.includes("everything below") && !ENTRANCES.includes(other));
  return of
    .filter(({ path }) => folderOf(path) === folder)
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => !mayImport(folderOf(target)))
        .map((target) => `${file.path} imports ${target}: ${folder} may not import ${folderOf(target)}`),
    );
}

/** @returns a line for each file that does what is done elsewhere only */
function outOfPlace(of: readonly SourceFile[], { rule, done, places }: OnePlace): string[] {
  return of
    .filter(({ path, text }) => !places.test(path) && done.test(text))
    .map(({ path, text }) => `${path} has ${done.exec(text)?.[0].trim()}, but ${rule}`);
}

describe("imports go one way", () => {
  test.each(Object.entries(MAY_IMPORT))("%s may import %j, and itself", (folder) => {
    expect(forbiddenImports(files, folder)).toEqual([]);
  });

  test("every folder has its line in the table", () => {
    const folders = new Set(
      files.map(({ path }) => folderOf(path)).filter((folder) => !folder.endsWith(".ts")),
    );
    expect([...folders].filter((folder) => MAY_IMPORT[folder] === undefined)).toEqual([]);
  });

  test.each([
    ["src/money.ts", '"./db/client.ts"', "words may not import db"],
    ["src/db/client.ts", '"../sync/store.ts"', "db may not import sync"],
    ["src/provider/client.ts", '"../sync/store.ts"', "provider may not import sync"],
    ["src/sync/store.ts", '"../ledger/fold.ts"', "sync may not import ledger"],
    ["src/diff/assess.ts", '"../provider/client.ts"', "diff may not import provider"],
    ["src/sandbox/world.ts", '"../db/client.ts"', "sandbox may not import db"],
    ["src/embedded/redis.ts", '"../flows/context.ts"', "embedded may not import flows"],
    ["src/flows/plan-product.ts", '"../../jobs/worker.ts"', "flows may not import jobs"],
    ["jobs/worker.ts", '"../src/ops/server.ts"', "jobs may not import ops"],
    ["src/ops/server.ts", '"../cli/print.ts"', "ops may not import cli"],
  ])("that %s imports %s is reported", (path, target, reason) => {
    for (const statement of [
      `import { x } from ${target};`,
      `import type { X } from ${target};`,
      `import ${target};`,
    ]) {
      expect(forbiddenImports([{ path, text: statement }], folderOf(path))).toEqual([
        expect.stringContaining(reason),
      ]);
    }
  });

  test("an import that is allowed, or only spoken of, is not reported", () => {
    const text = withoutComments(
      '/** See "../cli/print.ts". */\nimport { x } from "../db/client.ts";\n// from "../cli/main.ts"',
    );
    expect(forbiddenImports([{ path: "src/sync/store.ts", text }], "sync")).toEqual([]);
  });
});

/** What production installs (`npm ci --omit=dev`), and what Node brings. */
function isThereInProduction(specifier: string): boolean {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return specifier.startsWith("node:") || installed.has(name);
}
const installed = new Set(
  Object.keys((JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as PackageFile).dependencies),
);
interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
}

/** @returns a line for each package that only a checkout with its development packages has */
function missingInProduction(of: readonly SourceFile[]): string[] {
  return of
    .filter(({ path }) => path.startsWith("src/") || path.startsWith("jobs/"))
    .flatMap(({ path, text }) =>
      Array.from(
        text.matchAll(/(?:\bfrom |\bimport\(|^import )"((?:@|node:)?[a-z][\w./-]*)"[;)]/gm),
        ([, specifier = ""]) => specifier,
      )
        .filter((specifier) => !isThereInProduction(specifier))
        .map((specifier) => `${path} imports ${specifier}, which production does not install`),
    );
}

describe("what runs needs no development package", () => {
  test("everything that is imported is among the dependencies", () => {
    expect(missingInProduction(files)).toEqual([]);
  });

  test("a development package is reported, loaded late too", () => {
    const text =
      'import { it } from "vitest";\nconst kit = await import("@biomejs/biome/x");\nimport "node:fs";';
    expect(missingInProduction([{ path: "src/flows/example.ts", text }])).toEqual([
      "src/flows/example.ts imports vitest, which production does not install",
      "src/flows/example.ts imports @biomejs/biome/x, which production does not install",
    ]);
  });
});

describe("one way, in one place", () => {
  test.each(ONE_PLACE)("$rule", (place) => {
    expect(outOfPlace(files, place)).toEqual([]);
  });

  test.each(ONE_PLACE)("where $rule, the line «$broken» is reported", (place) => {
    const reported = outOfPlace([{ path: "src/flows/example.ts", text: place.broken }], place);
    expect(reported).toEqual([expect.stringContaining(`src/flows/example.ts has `)]);
    expect(reported[0]).toContain(place.rule);
  });

  test("no file passes others on: there is no index.ts", () => {
    expect(files.filter(({ path }) => path.endsWith("/index.ts"))).toEqual([]);
  });
});
