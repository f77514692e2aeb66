import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import type { Status } from "../../src/flows/read/read-status.ts";
import type { Mismatch } from "../../src/mismatch.ts";
import { listProcesses, type ProcessInfo, serverProcesses, survivors } from "../embedded/processes.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { startRecon } from "./run-recon.ts";

const checkout = copyCheckout();
afterAll(async () => {
  running?.kill("SIGKILL");
  await eventually("nothing is left", () => belongingTo(checkout).length === 0);
  rmSync(checkout, { recursive: true, force: true });
});

/** A checkout of its own, so that the data of the person who runs the tests stays untouched. */
function copyCheckout(): string {
  const root = join(import.meta.dirname, "../..");
  // PostgreSQL refuses root, and its own account must be able to reach the folder; $TMPDIR may not allow that.
  const folder = realpathSync(
    mkdtempSync(join(process.getuid?.() === 0 ? "/var/tmp" : tmpdir(), "recon-start-")),
  );
  chmodSync(folder, 0o755);
  for (const part of ["bin", "src", "jobs", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

interface Running {
  readonly url: string;
  /** everything on standard output so far */
  output(): string;
  errors(): string;
  /** npm, the shell, the worker, and the database with all that belongs to it */
  processes(): ProcessInfo[];
  /** Sends a signal to the whole group, as a terminal does. */
  kill(signal: NodeJS.Signals): void;
}

let running: Running | undefined;

/** `npm start`, as a user types it into a terminal. */
async function npmStart(): Promise<Running> {
  const port = String(await ownPort());
  const env = { PATH: process.env["PATH"], HOME: checkout, OPS_PORT: port };
  const child = spawn("npm", ["start"], {
    cwd: checkout,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { output: "", errors: "" };
  child.stdout.on("data", (chunk) => {
    said.output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said.errors += chunk;
  });
  await once(child, "spawn");
  running = {
    url: `http://127.0.0.1:${port}`,
    output: () => said.output,
    errors: () => said.errors,
    processes: () => familyOf(child.pid ?? 0),
    kill: (signal) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), signal);
    },
  };
  return running;
}

function familyOf(pid: number): ProcessInfo[] {
  const all = listProcesses();
  const family = all.filter((one) => one.pid === pid);
  for (const member of family) family.push(...all.filter((one) => one.parent === member.pid));
  return family;
}

function belongingTo(folder: string): ProcessInfo[] {
  return listProcesses().filter(({ command }) => command.includes(folder));
}

async function expectEnded(processes: readonly ProcessInfo[]): Promise<void> {
  await eventually("every process has ended", () => survivors(processes).length === 0);
  await eventually("nothing is left", () => belongingTo(checkout).length === 0);
}

/** The product whose money moves by transfers: it has no records. */
const WALLET = "WALLET";

interface AnnouncedMismatch {
  readonly id: string;
  readonly kind: string;
  readonly productId: string;
}

/** The mismatches on the screen: "#7  payout-differs  TABLE  30.00 THB at risk  player-012: paid out …". */
function announcedBy({ output }: Running): AnnouncedMismatch[] {
  const lines = output().matchAll(
    /^#(\d+) +([a-z-]+) +([A-Z]+) +\d+\.\d\d [A-Z]{3} at risk {2}player-\d+: \w.+$/gm,
  );
  return Array.from(lines, ([, id = "", kind = "", productId = ""]) => ({ id, kind, productId }));
}

async function expectFirstMismatches(running: Running): Promise<AnnouncedMismatch[]> {
  const announced = await eventually(
    "the first mismatches are shown",
    () => /npx recon mismatches list/.test(running.output()) && announcedBy(running),
  );
  expect(announced.length).toBeGreaterThan(0);
  return announced;
}

async function read<Answer>({ url }: Running, path: string): Promise<Answer> {
  const response = await fetch(url + path);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** On a busy machine a worker may be behind for a while. */
async function expectReady({ url }: Running): Promise<void> {
  await eventually("it is ready", async () => (await fetch(`${url}/readyz`)).ok);
}

const readAll = async (running: Running) =>
  (await read<{ mismatches: Mismatch[] }>(running, "/api/mismatches?limit=1000")).mismatches;

/** `recon` of the same checkout, in another terminal. */
async function recon(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startRecon(args, {}, join(checkout, "src/cli/main.ts")).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

let before: {
  readonly seed: string | undefined;
  readonly status: Status;
  readonly mismatches: readonly Mismatch[];
};

const seedOf = ({ output }: Running) => /seed (\d+)/.exec(output())?.[1];

test("npm start alone shows mismatches of a sandbox world within a minute, and says where to look", async () => {
  const running = await npmStart();
  await expectFirstMismatches(running);
  expect(running.output()).toMatch(
    /wallet-recon starts\.\n.*\n {2}… starting its own PostgreSQL\n {2}… creating the tables\n {2}… playing two days/,
  );
  expect(running.output()).toMatch(/graces +callbacks 5 s, provider 5 s/);
  expect(running.output()).toContain(`${running.url}/api/mismatches`);
  expect(running.output().match(/^ {2}http\S+ {2}[A-Z].+$/gm)).toHaveLength(3);
  await expectReady(running);
});

test("other commands of the checkout use the same database", async () => {
  const now = await expectStillRuns();
  const [first] = announcedBy(now);
  const listed: Mismatch[] = JSON.parse(
    await recon("mismatches", "list", "--json", "--limit", "1000"),
  ).mismatches;
  expect(listed).toEqual(expect.arrayContaining([expect.objectContaining(first)]));
  expect(await recon("mismatches", "show", first?.id ?? "")).toMatch(
    new RegExp(`^Mismatch ${first?.id}: ${first?.kind}`),
  );
  expect(await recon("doctor")).toContain(
    `-> DATABASE_URL is not set in this terminal, so everything below is about the try-out database in ${checkout}/.recon.`,
  );
  expect(serverProcesses(checkout).all.filter(({ command }) => /\/postgres -D/.test(command))).toHaveLength(
    1,
  );
});

test("kill -9 leaves no process behind", async () => {
  const now = await expectStillRuns();
  await eventually("every product is fetched", async () =>
    (await read<Status>(now, "/api/status")).products.every(
      ({ productId, records }) => records > 0 || productId === WALLET,
    ),
  );
  before = { seed: seedOf(now), status: await read(now, "/api/status"), mismatches: await readAll(now) };
  const processes = now.processes();
  expect(processes.length).toBeGreaterThan(5);
  now.kill("SIGKILL");
  await expectEnded(processes);
});

test("the next start continues the same world: nothing is lost, nothing is reported again", async () => {
  const now = await npmStart();
  await expectFirstMismatches(now);
  expect(seedOf(now)).toBe(before.seed);
  await expectReady(now);
  const status = await read<Status>(now, "/api/status");
  for (const [index, { productId, records, head }] of before.status.products.entries()) {
    expect(status.products[index]).toMatchObject({ productId });
    if (productId === WALLET) continue;
    expect(status.products[index]?.records).toBeGreaterThanOrEqual(records);
    expect(Date.parse(status.products[index]?.head ?? "")).toBeGreaterThanOrEqual(Date.parse(head ?? ""));
  }
  const mismatches = await readAll(now);
  for (const { id, kind, betId, transactionId, firstSeenAt } of before.mismatches) {
    expect(mismatches).toContainEqual(
      expect.objectContaining({ id, kind, betId, transactionId, firstSeenAt }),
    );
  }
  const subjects = mismatches.map((one) =>
    [one.productId, one.username, one.betId, one.transactionId].join(" "),
  );
  expect(new Set(subjects).size).toBe(subjects.length);
  await eventually("every product is fetched on", async () => {
    const { products } = await read<Status>(now, "/api/status");
    return products.every(
      ({ productId, head }, index) =>
        productId === WALLET || (head ?? "") > (before.status.products[index]?.head ?? ""),
    );
  });
});

test("Ctrl-C ends every process", async () => {
  const now = await expectStillRuns();
  const processes = now.processes();
  now.kill("SIGINT");
  await expectEnded(processes);
  // The machine decides how much work is cut off for lack of time; the sandbox refuses one window.
  const errors = now
    .errors()
    .split("\n")
    .filter((line) => line.startsWith("error: "));
  expect(errors.filter((line) => !/a window could not be fetched/.test(line))).toEqual([]);
});

test("data of a checkout from before the first release is refused: one line says to delete the folder", async () => {
  const home = join(checkout, ".recon");
  const server = await startEmbeddedPostgres({ home });
  const sql = postgres(server.url, { max: 1 });
  await sql`update recon_migrations set created_at = 1795208611560`;
  await sql.end();
  await server.release();
  const { code, stdout, stderr } = await startRecon(["worker"], {}, join(checkout, "src/cli/main.ts")).ended;
  expect(code).toBe(1);
  // Only what the start was doing until then.
  expect(stdout).toMatch(/^There is no provider in the settings, [^\n]*\n(?: {2}… [^\n]*\n)*$/);
  expect(stderr).toMatch(/^recon: the database was made by .* cannot be upgraded\. Delete the folder .*\n$/);
  expect(stderr).toContain(`Delete the folder ${home} and start again.`);
});

async function expectStillRuns(): Promise<Running> {
  if (running === undefined || running.processes().length === 0)
    throw new Error("the start before this failed");
  return running;
}
