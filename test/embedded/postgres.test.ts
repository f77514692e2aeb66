import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { eventually } from "../support/eventually.ts";
import { startHolder } from "./holder.ts";
import { type ProcessInfo, serverProcesses, survivors } from "./processes.ts";

const root = process.getuid?.() === 0;
const NOBODY = 65_534;
const settings = { fsync: "off" };

// As root the tests need a folder that other accounts can reach; $TMPDIR may be closed.
const temporary = realpathSync(mkdtempSync(join(root ? "/var/tmp" : tmpdir(), "postgres-test-")));
chmodSync(temporary, 0o755);
afterAll(() => rmSync(temporary, { recursive: true, force: true }));
/** Most tests share this cluster, because making a cluster takes time. */
const shared = join(temporary, "shared");

async function hold(home: string, database?: string): Promise<EmbeddedPostgres> {
  const held = await startEmbeddedPostgres({
    home,
    settings,
    ...(database === undefined ? {} : { database }),
  });
  onTestFinished(() => held.release());
  return held;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  return sql.unsafe(text).finally(() => sql.end());
}

/** The victim may have ended by itself after its neighbours were killed. */
function kill(victim: ProcessInfo | undefined): void {
  try {
    process.kill(victim?.pid ?? Number.NaN, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** True if root runs the tests and other accounts can read the checkout. */
function nobodyCanRun(): boolean {
  const check = 'test -x "$1" && test -r "$2"';
  const files = [process.execPath, fileURLToPath(import.meta.url)];
  return spawnSync("/bin/sh", ["-c", check, "sh", ...files], { uid: NOBODY, gid: NOBODY }).status === 0;
}

/** Every path in the folder, and the folder itself, that another account than the owner's can list, read or write. */
function openToOthers(folder: string): string[] {
  const inside = readdirSync(folder, { withFileTypes: true })
    // The programs that are copied for PostgreSQL's account contain no data.
    .filter((entry) => (entry.isDirectory() || entry.isFile()) && !entry.name.startsWith("native-"))
    .map((entry) => ({ path: join(folder, entry.name), isFolder: entry.isDirectory() }));
  const below = inside.flatMap(({ path, isFolder }) => {
    if (isFolder) return openToOthers(path);
    return (statSync(path).mode & 0o077) === 0 ? [] : [path];
  });
  return (statSync(folder).mode & 0o066) === 0 ? below : [folder, ...below];
}

test("data survives a restart, a released server is gone, and only the owner can read a home", async () => {
  const first = await hold(shared);
  expect(first.started).toBe(true);
  await query(first.url, "create table kept as select 42 as answer");
  expect(openToOthers(shared)).toEqual([]);
  if (!root) expect(statSync(shared).mode & 0o777).toBe(0o700);
  const { all } = serverProcesses(shared);
  expect(all.length).toBeGreaterThan(3);
  await Promise.all([first.release(), first.release()]);
  await eventually("everything has ended", () => survivors(all).length === 0);

  // An earlier version left it open to others.
  chmodSync(shared, 0o755);
  const second = await hold(shared);
  expect(second.started).toBe(true);
  expect(await query(second.url, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(openToOthers(shared)).toEqual([]);
});

test("several holders share one server, which stops after the last one", async () => {
  const other = startHolder(["postgres", shared]);
  const [theirs, ...ours] = await Promise.all([
    other.ready(),
    hold(shared, "another"),
    hold(join(shared, "..", "shared"), "another"),
  ]);
  expect([theirs, ...ours].filter((one) => one.started)).toHaveLength(1);
  expect(new Set([theirs, ...ours].map((one) => new URL(one.url).port)).size).toBe(1);
  const { all } = serverProcesses(shared);
  other.child.kill("SIGTERM");
  await other.ended();
  await ours[0].release();
  expect(await query(ours[1].url, "select current_database() as name")).toEqual([{ name: "another" }]);
  await ours[1].release();
  await eventually("everything has ended", () => survivors(all).length === 0);
});

test("the server accepts only connections to 127.0.0.1 with the password, and runs as an unprivileged account when root starts it", async () => {
  const held = await hold(shared);
  const wrong = new URL(held.url);
  wrong.password = "wrong";
  await expect(query(wrong.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
  const shown = await query(
    held.url,
    "select name, setting from pg_settings where name ~ 'addresses|socket_dir|^fsync'",
  );
  expect(shown).toEqual([
    { name: "fsync", setting: "off" },
    { name: "listen_addresses", setting: "127.0.0.1" },
    { name: "unix_socket_directories", setting: "" },
  ]);
  const uid = serverProcesses(shared).postmaster?.uid;
  if (root) expect(uid).toBeGreaterThan(0);
  else expect(uid).toBe(process.getuid?.());
});

test("a command that has finished exits although it did not release the server", async () => {
  const holder = startHolder(["postgres", shared, "exit"]);
  expect(await holder.ended()).toBe(0);
  await eventually("everything has ended", () => serverProcesses(shared).all.length === 0);
});

test("Ctrl-C leaves the server to a holder that still works; kill -9 of the only holder ends every process", async () => {
  const holder = startHolder(["postgres", shared]);
  const { url } = await holder.ready();
  const before = serverProcesses(shared).all;
  expect(before.length).toBeGreaterThan(3);
  process.kill(-(holder.child.pid ?? 0), "SIGINT");
  await eventually("the holder has seen it", () => holder.output().includes("interrupted"));
  expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(serverProcesses(shared).postmaster?.pid).toBe(before.find((one) => / -D /.test(one.command))?.pid);
  holder.child.kill("SIGKILL");
  await eventually("everything has ended", () => survivors(before).length === 0);
});

test("kill -9 of the supervisor ends the server too", async () => {
  const holder = startHolder(["postgres", shared]);
  await holder.ready();
  const { all, supervisor } = serverProcesses(shared);
  kill(supervisor);
  await eventually("everything has ended", () => survivors(all).length === 0);
});

test("a server without supervisor and guard does not block the next start", async () => {
  const holder = startHolder(["postgres", shared]);
  await holder.ready();
  const { guards, supervisor, postmaster } = serverProcesses(shared);
  for (const victim of [...guards, supervisor]) kill(victim);
  const orphan = postmaster === undefined ? [] : [postmaster];
  expect(survivors(orphan)).toHaveLength(1);

  const next = await hold(shared);
  expect(next.started).toBe(true);
  expect(await query(next.url, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(survivors(orphan)).toEqual([]);
});

test("a lock file with the number of another process does not block the next start", async () => {
  const lockFile = join(shared, "postgres", "cluster", "data", "postmaster.pid");
  const first = await hold(shared);
  const content = readFileSync(lockFile, "utf8");
  await first.release();
  writeFileSync(lockFile, content.replace(/^\d+/, String(process.pid)));
  const next = await hold(shared);
  expect(next.started).toBe(true);
});

test("the next start repeats an initdb that was killed half-way", async () => {
  const home = await interruptInitdb();
  const next = await hold(home);
  expect(await query(next.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(unfinishedIn(home)).toEqual([]);
});

function unfinishedIn(home: string): string[] {
  const folder = join(home, "postgres");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith("cluster-unfinished-"));
}

/** @returns a home whose initdb was killed. Where one ends before the test sees it, the next one begins. */
async function interruptInitdb(): Promise<string> {
  for (let tries = 0; tries < 20; tries += 1) {
    const home = join(temporary, `interrupted-${tries}`);
    const holder = startHolder(["postgres", home]);
    await eventually(
      "initdb is or was at work",
      () => unfinishedIn(home).length > 0 || holder.output() !== "",
    );
    for (const victim of serverProcesses(home).all) kill(victim);
    holder.child.kill("SIGKILL");
    await holder.ended();
    if (unfinishedIn(home).length === 1) return home;
  }
  throw new Error("initdb was never seen at work");
}

test("a home in a folder that is closed to others works, and keeps its data", async () => {
  const closed = join(temporary, "closed");
  mkdirSync(closed, { mode: 0o700 });
  const home = join(closed, "home");
  const first = await hold(home);
  await query(first.url, "create table kept as select 1 as answer");
  await first.release();
  const pointer = join(home, "postgres", "moved-to.txt");
  const elsewhere = existsSync(pointer)
    ? /\/var\/tmp\/wallet-recon-\w+/.exec(readFileSync(pointer, "utf8"))?.[0]
    : undefined;
  try {
    expect(existsSync(pointer)).toBe(root);
    const second = await hold(home);
    expect(await query(second.url, "select answer from kept")).toEqual([{ answer: 1 }]);
    await second.release();
  } finally {
    if (elsewhere !== undefined) rmSync(elsewhere, { recursive: true });
  }
});

test.runIf(root && nobodyCanRun())(
  "an ordinary user's server stays that user's when root joins or starts it",
  async () => {
    const home = join(temporary, "ordinary");
    mkdirSync(home);
    chownSync(home, NOBODY, NOBODY);
    const holder = startHolder(["postgres", home], { uid: NOBODY, gid: NOBODY });
    const { url } = await holder.ready();
    const joined = await hold(home);
    expect(joined).toMatchObject({ url, started: false });
    expect(new Set(serverProcesses(home).all.map((one) => one.uid))).toEqual(new Set([NOBODY]));
    holder.child.kill("SIGKILL");
    await joined.release();

    await hold(home);
    expect(serverProcesses(home).postmaster?.uid).toBe(NOBODY);
  },
);

test("a server that cannot start says why, and where its log is", async () => {
  const failing = startEmbeddedPostgres({ home: shared, settings: { ...settings, no_such_setting: "1" } });
  await expect(failing).rejects.toMatchObject({
    code: "embedded-failed",
    message: expect.stringMatching(/postgres\.log ends with:\n.*no_such_setting/s),
  });
});

test("the error about missing binaries says what to do", async () => {
  const architecture = Object.getOwnPropertyDescriptor(process, "arch") ?? {};
  Object.defineProperty(process, "arch", { ...architecture, value: "abacus" });
  try {
    await expect(startEmbeddedPostgres({ home: shared })).rejects.toMatchObject({
      code: "embedded-failed",
      message: expect.stringContaining("Set DATABASE_URL"),
    });
  } finally {
    Object.defineProperty(process, "arch", architecture);
  }
});
