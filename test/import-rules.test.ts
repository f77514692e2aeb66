/**
 * The rules of the house, as a test: which folder may import which, and what is done in one place only. src/README.md gives
 * the reasons. Each rule comes with an example that breaks it, which the test must find.
 */

import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** What each folder may import besides itself; "words" are the files of src itself. */
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
  closing: ["words", "db"],
  health: ["words", "sync", "alerts", "work"],
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
    "closing",
    "health",
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
  /** how the code that does it looks */
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
    // The tests' set-up and a process of their own run the embedded servers.
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

/** An import, and where the ways of its two files from the root part. */
interface PartingImport {
  readonly from: string;
  readonly target: string;
  /** the folder that both lie in */
  readonly folder: string;
  /** the folder in it that the importing file lies in, and that of the imported file; OWN_FILES: it lies in none */
  readonly parts: readonly [string, string];
}

/**
 * The files of a folder that lie in none of its folders. Together they are one part of it: a folder in it imports them, or
 * they import that folder, never both.
 */
const OWN_FILES = "its own files";

function partingImports(of: readonly SourceFile[]): PartingImport[] {
  return of.flatMap((file) =>
    importsOf(file).flatMap((target): PartingImport[] => {
      const [a, b] = [stepsOf(file.path), stepsOf(target)];
      const depth = a.findIndex((step, index) => step !== b[index]);
      const parts = [a[depth] ?? "", b[depth] ?? ""] as const;
      if (parts[0] === parts[1]) return [];
      return [{ from: file.path, target, folder: a.slice(0, depth).join("/"), parts }];
    }),
  );
}

/** As if jobs were a folder of src: cli imports it, and it imports the others. */
function stepsOf(path: string): string[] {
  const folders = dirname(path.replace(/^src\//, "")).split("/");
  return ["src", ...folders.filter((folder) => folder !== "."), OWN_FILES];
}

/** @returns a line for each import of a circle of folders, at any depth. A type-only import counts like any other. */
function circles(of: readonly SourceFile[]): string[] {
  return [...Map.groupBy(partingImports(of), ({ folder }) => folder)].flatMap(([folder, within]) => {
    const next = Map.groupBy(within, ({ parts: [importing] }) => importing);
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      (next.get(from) ?? []).some(({ parts: [, part] }) => {
        if (part === to) return true;
        if (seen.has(part)) return false;
        seen.add(part);
        return reaches(part, to, seen);
      });
    return within
      .filter(({ parts: [a, b] }) => reaches(b, a))
      .map(
        ({ from, target, parts: [a, b] }) =>
          `${from} imports ${target}: a circle of ${a} and ${b} in ${folder}`,
      );
  });
}

/** @returns a line for each file that does what the rule allows elsewhere only */
function outOfPlace(of: readonly SourceFile[], { rule, done, places }: OnePlace): string[] {
  return of
    .filter(({ path, text }) => !places.test(path) && done.test(text))
    .map(({ path, text }) => `${path} has ${done.exec(text)?.[0].trim()}, but ${rule}`);
}

describe("imports go one way", () => {
  test.each(Object.entries(MAY_IMPORT))("%s may import only %j and itself", (folder) => {
    expect(forbiddenImports(files, folder)).toEqual([]);
  });

  test("the table has a line for every folder", () => {
    const folders = new Set(
      files.map(({ path }) => folderOf(path)).filter((folder) => !folder.endsWith(".ts")),
    );
    expect([...folders].filter((folder) => MAY_IMPORT[folder] === undefined)).toEqual([]);
  });

  test.each([
    ["src/money.ts", '"./db/client.ts"', "words may not import db"],
    ["src/db/client.ts", '"../sync/window-store.ts"', "db may not import sync"],
    ["src/provider/client.ts", '"../sync/window-store.ts"', "provider may not import sync"],
    ["src/sync/window-store.ts", '"../ledger/fold.ts"', "sync may not import ledger"],
    ["src/diff/assess.ts", '"../provider/client.ts"', "diff may not import provider"],
    ["src/health/finding.ts", '"../flows/context.ts"', "health may not import flows"],
    ["src/alerts/condition.ts", '"../health/finding.ts"', "alerts may not import health"],
    ["src/sandbox/world.ts", '"../db/client.ts"', "sandbox may not import db"],
    ["src/embedded/child-process.ts", '"../flows/context.ts"', "embedded may not import flows"],
    ["src/flows/pull/plan-product.ts", '"../../../jobs/worker.ts"', "flows may not import jobs"],
    ["jobs/worker.ts", '"../src/ops/server.ts"', "jobs may not import ops"],
    ["src/ops/server.ts", '"../cli/print.ts"', "ops may not import cli"],
  ])("%s that imports %s is reported", (path, target, reason) => {
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

  test("an import that is allowed, or only mentioned in a comment, is not reported", () => {
    const text = withoutComments(
      '/** See "../cli/print.ts". */\nimport { x } from "../db/client.ts";\n// from "../cli/main.ts"',
    );
    expect(forbiddenImports([{ path: "src/sync/window-store.ts", text }], "sync")).toEqual([]);
  });
});

describe("folders import each other in no circle", () => {
  test("at any depth", () => {
    expect(circles(files)).toEqual([]);
  });

  test.each<[what: string, planted: [path: string, target: string][], folders: string]>([
    [
      "two journeys",
      [
        ["src/flows/compare/a.ts", "../ledger/b.ts"],
        ["src/flows/ledger/c.ts", "../compare/d.ts"],
      ],
      "a circle of compare and ledger in src/flows",
    ],
    [
      "three folders in a row",
      [
        ["src/ops/metrics/a.ts", "../dashboard/b.ts"],
        ["src/ops/dashboard/c.ts", "../schemas/d.ts"],
        ["src/ops/schemas/e.ts", "../metrics/f.ts"],
      ],
      "a circle of metrics and dashboard in src/ops",
    ],
    [
      "a folder and the files beside it",
      [
        ["src/flows/context.ts", "./status/a.ts"],
        ["src/flows/status/b.ts", "../context.ts"],
      ],
      "a circle of its own files and status in src/flows",
    ],
    [
      "a folder and two files beside it, by an import of a type",
      [
        ["src/ops/server.ts", "./dashboard/pages/a.ts"],
        ["src/ops/dashboard/pages/b.ts", "../../worker.ts"],
      ],
      "a circle of its own files and dashboard in src/ops",
    ],
    [
      "two folders far apart",
      [
        ["src/sync/deep/a.ts", "../../db/b.ts"],
        ["src/db/c.ts", "../sync/deep/d.ts"],
      ],
      "a circle of sync and db in src",
    ],
  ])("%s that do are reported", (_, planted, folders) => {
    const reported = circles(
      planted.map(([path, target]) => ({ path, text: `import type { X } from "${target}";` })),
    );
    expect(reported).toHaveLength(planted.length);
    expect(reported[0]).toContain(folders);
  });

  test("a folder that two others import, one of which imports the other, is in no circle", () => {
    const planted = [
      ["src/flows/compare/a.ts", "../ledger/b.ts"],
      ["src/flows/compare/a.ts", "../context.ts"],
      ["src/flows/ledger/c.ts", "../context.ts"],
      ["src/flows/ledger/c.ts", "./b.ts"],
    ];
    expect(circles(planted.map(([path = "", target]) => ({ path, text: `import "${target}";` })))).toEqual(
      [],
    );
  });
});

/** @returns a line for each way to the database, the disk or the network in a file that judges */
function impure(of: readonly SourceFile[]): string[] {
  return of
    .filter(({ path }) => /\/judge-[\w-]+\.ts$|^src\/health\//.test(path))
    .flatMap(({ path, text }) => [
      ...(/\b(?:await|async)\b/.test(text) ? [`${path} waits`] : []),
      ...Array.from(
        text.matchAll(
          /^import (?!type\b)(?!\{(?:\s*type \w+,?)+\s*\})[^;]*"([^"]*(?:store|\/db\/[\w-]+)\.ts|node:[^"]*)"/gm,
        ),
        ([, target]) => `${path} imports more than types of ${target}`,
      ),
    ]);
}

describe("who judges does nothing else", () => {
  test("judge-*.ts and health neither wait nor import a store", () => {
    expect(files.filter(({ path }) => path.includes("/judge-"))).not.toEqual([]);
    expect(impure(files)).toEqual([]);
  });

  test.each([
    [
      "import { writeMarks } from '../../diff/mark-store.ts';",
      "imports more than types of ../../diff/mark-store.ts",
    ],
    [
      "import { type DiffMark, writeMarks } from '../../diff/large-round-store.ts';",
      "imports more than types",
    ],
    ["import { inSnapshot } from '../../db/transactions.ts';", "imports more than types"],
    ["export async function judge() {}", "waits"],
  ])("«%s» is reported", (line, reason) => {
    for (const path of ["src/flows/compare/judge-example.ts", "src/health/example.ts"]) {
      const planted = { path, text: line.replaceAll("'", '"') };
      expect(impure([planted])).toEqual([expect.stringContaining(reason)]);
      const types = planted.text.replace("import {", "import type {").replace("async ", "");
      expect(impure([{ ...planted, text: types }])).toEqual([]);
    }
  });
});

/** What production installs (`npm ci --omit=dev --omit=optional`), and what Node includes. */
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

/** @returns a line for each package that only a checkout with development packages has */
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

describe("production code needs no development package", () => {
  test("every imported package is among the dependencies", () => {
    expect(missingInProduction(files)).toEqual([]);
  });

  test("the import of a development package is reported, a dynamic import too", () => {
    const text =
      'import { it } from "vitest";\nconst kit = await import("@biomejs/biome/x");\nimport "node:fs";';
    expect(missingInProduction([{ path: "src/flows/example.ts", text }])).toEqual([
      "src/flows/example.ts imports vitest, which production does not install",
      "src/flows/example.ts imports @biomejs/biome/x, which production does not install",
    ]);
  });
});

describe("each thing has one place", () => {
  test.each(ONE_PLACE)("$rule", (place) => {
    expect(outOfPlace(files, place)).toEqual([]);
  });

  test.each(ONE_PLACE)("a line that breaks the rule is reported: $rule («$broken»)", (place) => {
    const reported = outOfPlace([{ path: "src/flows/example.ts", text: place.broken }], place);
    expect(reported).toEqual([expect.stringContaining(`src/flows/example.ts has `)]);
    expect(reported[0]).toContain(place.rule);
  });

  test("no file only exports what others define: there is no index.ts", () => {
    expect(files.filter(({ path }) => path.endsWith("/index.ts"))).toEqual([]);
  });
});
