/**
 * `npm run build`: compiles what the commands and the library reach into dist/, in the folders of the sources, with
 * the files that they read. What only tests need is not reached, so it is not in the package.
 */

import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const DIST = join(ROOT, "dist");
/** Read by the program while it runs. Snapshots of the schema are for the next generated migration only. */
const READ_FILES = [
  "src/db/migrations/*.sql",
  "src/db/migrations/meta/_journal.json",
  "src/ops/dashboard/assets/*",
  "docs/errors.md",
];
const RELATIVE_IMPORT = /(?<before>(?:from |import\()")(?<to>\.{1,2}\/[^"]+)\.ts"/g;

rmSync(DIST, { recursive: true, force: true });
// `npm run check` finds wrong types; to look for them here again would double the time of the build.
const compile = ["-p", "tsconfig.build.json", "--checkers", "1", "--noCheck"];
execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), ...compile], {
  cwd: ROOT,
  stdio: "inherit",
});
for (const file of globSync(READ_FILES, { cwd: ROOT })) cpSync(join(ROOT, file), join(DIST, file));
keepPublicTypes();

/** Keeps the declarations that the library's entry reaches. TypeScript leaves the endings of their imports as they are. */
function keepPublicTypes(): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = readFileSync(file, "utf8");
    for (const { groups } of text.matchAll(RELATIVE_IMPORT)) {
      visit(join(dirname(file), `${groups?.["to"]}.d.ts`));
    }
    writeFileSync(file, text.replace(RELATIVE_IMPORT, '$<before>$<to>.js"'));
  };
  visit(join(DIST, "src/library/agent.d.ts"));
  for (const file of globSync(join(DIST, "**/*.d.ts"))) if (!reached.has(file)) rmSync(file);
}
