/** The package as a user installs it: packed from this checkout, installed into an empty folder. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
/** npm's message if a package is neither in its cache nor to be had. */
const NO_NETWORK =
  /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|E40[37]|E5\d\d/;

/** The Node of a user; by default the one that runs the tests. */
export const NODE = process.env["PACKAGE_NODE"] ?? process.execPath;
/** The oldest Node that will do. */
const OLDEST = "22.18.0";

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly optional?: boolean;
}

/**
 * Puts the oldest Node that will do beside the data of the tests, once.
 * @returns its program; null if there is none for this machine, or no network
 */
export async function findOldestNode(): Promise<string | null> {
  const home = join(ROOT, `.recon/test/node-${OLDEST}`);
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(home, "node_modules", name, "bin/node");
  if (existsSync(program)) return program;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), "{}");
  const quiet = ["--ignore-scripts", "--no-bin-links", "--no-save", "--no-audit", "--no-fund"];
  const install = ["install", `${name}@${OLDEST}`, "--fetch-retries=0", "--prefer-offline", ...quiet];
  return (await npmSucceeds(install, home)) ? program : null;
}

/** The environment of a user: their Node, and nothing of the checkout. */
export function userEnvironment(folder: string, node = NODE): NodeJS.ProcessEnv {
  const { HOME = folder } = process.env;
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((part) => !part.includes("node_modules"));
  return { PATH: [dirname(node), ...path].join(delimiter), HOME };
}

/** PostgreSQL refuses root, and its own account must be able to reach the folder; $TMPDIR may not allow that. */
export function emptyFolder(): string {
  const parent = process.getuid?.() === 0 ? "/var/tmp" : tmpdir();
  const folder = realpathSync(mkdtempSync(join(parent, "recon-package-")));
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * Builds, packs and installs. npm unpacks the package and what is optional. The other dependencies are copied from this
 * checkout, where `npm ci` unpacked the same versions: to unpack them again takes most of the time of an installation.
 * @returns false if npm's cache lacks a package and there is no network
 */
export async function installPackage(folder: string): Promise<boolean> {
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: ROOT });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  const dependencies = Object.entries((readRoot("package-lock.json") as Lock).packages).filter(
    ([path, { dev = false, link = false }]) => path.startsWith("node_modules/") && !dev && !link,
  );
  writeManifest(folder, tarball, Object.fromEntries(dependencies));
  for (const [path, { optional = false }] of dependencies) {
    // What lies inside another package is copied with that one.
    if (optional || path.includes("/node_modules/")) continue;
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  const install = ["install", "--fetch-retries=0", "--no-audit", "--no-fund"];
  return (
    (await npmSucceeds([...install, "--offline"], folder)) ||
    (await npmSucceeds([...install, "--prefer-offline"], folder))
  );
}

/** @returns false if npm's cache lacks a package and there is no network */
async function npmSucceeds(args: readonly string[], cwd: string): Promise<boolean> {
  try {
    // A network may need a certificate authority of its own.
    const { NODE_EXTRA_CA_CERTS } = process.env;
    await run("npm", args, { cwd, env: { ...userEnvironment(cwd), NODE_EXTRA_CA_CERTS } });
    return true;
  } catch (error) {
    if (NO_NETWORK.test(String((error as { stderr?: string }).stderr))) return false;
    throw error;
  }
}

function readRoot(name: string) {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
}

function writeManifest(folder: string, tarball: string, locked: Lock["packages"]): void {
  const { version, dependencies, optionalDependencies, bin, engines } = readRoot("package.json");
  const resolved = `file:${tarball}`;
  const digest = createHash("sha512")
    .update(readFileSync(join(folder, tarball)))
    .digest("base64");
  const own = {
    version,
    resolved,
    integrity: `sha512-${digest}`,
    dependencies,
    optionalDependencies,
    bin,
    engines,
  };
  const manifest = {
    name: "empty",
    version: "1.0.0",
    type: "module",
    dependencies: { "wallet-recon": resolved },
  };
  const packages = { "": manifest, ...locked, "node_modules/wallet-recon": own };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({
      name: manifest.name,
      version: manifest.version,
      lockfileVersion: 3,
      requires: true,
      packages,
    }),
  );
}
