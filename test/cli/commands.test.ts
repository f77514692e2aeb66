import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { parseConfig } from "../../src/config-file.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { writeTransitions } from "../../src/mismatches/transition-store.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { exampleFinding } from "../support/findings.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { callRecon } from "./call-recon.ts";
import { type Ended, PROGRAM, startRecon } from "./run-recon.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-commands-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A config file of its own. @returns its path */
function writeConfig(name: string, config: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const CONFIG = { products: [{ productId: "P1" }, { productId: "P2" }] };
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: writeConfig("recon.config.json", CONFIG) };

/** Runs `recon` to its end. @param changes to the environment; undefined takes a variable away */
async function recon(args: readonly string[], changes: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return await callRecon(args, { ...SETTINGS, ...changes });
}

/** The same in a process of its own. */
async function reconAlone(args: readonly string[], changes: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return await startRecon(args, { ...SETTINGS, ...changes }).ended;
}

/** What every failure must look like: nothing on standard output, one clear line, and no stack trace. */
function failure(code: number, line: RegExp) {
  return {
    code,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^recon: .*${line.source}`, line.flags)),
  };
}

async function expectFailure(ended: Ended, code: number, line: RegExp): Promise<void> {
  expect(ended).toEqual(failure(code, line));
  expect(ended.stderr).not.toMatch(/\n {4}at |internal error/);
}

async function open(...findings: MismatchContent[]): Promise<void> {
  await writeTransitions(
    sql,
    findings.map((finding) => ({ change: "open", content: finding })),
    NOON,
  );
}

beforeEach(async () => {
  await emptyTables(sql, ["mismatches", "mismatch_events"]);
});

describe("help", () => {
  test("every command says how to use it, and what it does", async () => {
    const commands: string[] = [];
    const look = (command: Command, path: string): void => {
      commands.push(path);
      expect(command.helpInformation()).toMatch(new RegExp(`^Usage: ${path} .*\n\n\\S`));
      for (const inner of command.commands) look(inner, `${path} ${inner.name()}`);
    };
    look(await createProgram(), "recon");
    expect(commands).toEqual(
      expect.arrayContaining([
        "recon worker",
        "recon callbacks",
        "recon sandbox",
        "recon migrate",
        "recon backfill pause",
        "recon coverage",
        "recon status",
        "recon mismatches resolve",
        "recon report",
        "recon transfers close",
        "recon alerts test",
        "recon wallet credit",
        "recon provider deposit",
        "recon doctor",
      ]),
    );
  });

  test("--help needs no settings, database or provider", async () => {
    const { code, stdout, stderr } = await recon(["mismatches", "list", "--help"], {
      DATABASE_URL: undefined,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: recon mismatches list /);
  });

  test("--version is that of the package, and needs no settings either", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const { code, stdout, stderr } = await recon(["--version"], { DATABASE_URL: undefined });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  test.each([[[]], [["mismatches"]]])("recon %j alone is wrong usage, and shows the help", async (args) => {
    const { code, stdout, stderr } = await recon(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Usage: recon/);
  });
});

describe("a typing mistake is named in one line, with exit code 2", () => {
  test.each([
    ["stauts", /unknown command 'stauts'/],
    ["mismatches lst", /unknown command 'lst'/],
    ["status --jsno", /unknown option '--jsno'/],
    ["mismatches show", /missing required argument 'id'/],
    [
      "mismatches list --status opened",
      /no status "opened"; it is one of open, acknowledged, resolved, ignored/,
    ],
    ["mismatches list --kind lost", /no kind "lost"; it is one of .*payout-differs/],
    ["mismatches list --product P9", /no product "P9"; it is one of P1, P2/],
    ["sandbox --port 70000", /port "70000"/],
    ["report --day 2026-11-20 --zone local", /no zone "local"/],
  ])("recon %s", async (args, line) => {
    await expectFailure(await recon(args.split(" ")), 2, line);
  });
});

test.each(["2", "none"])("an unknown mismatch, %s, is named, with exit code 1", async (id) => {
  await open(exampleFinding());
  await expectFailure(await recon(["mismatches", "show", id]), 1, new RegExp(`there is no mismatch "${id}"`));
});

describe("a database that cannot be used", () => {
  const password = "hunter2-secret";
  const server = new URL(url);

  test.each([
    [
      "does not answer",
      "127.0.0.1:1",
      "recon",
      /the database recon at 127\.0\.0\.1:1 does not answer.*ECONNREFUSED/,
    ],
    [
      "refuses the password",
      server.host,
      "recon",
      /the database recon at 127\.0\.0\.1:\d+ .*authentication failed/,
    ],
  ])("and %s is named, without the password", async (_how, host, database, line) => {
    const ended = await recon(["status"], {
      DATABASE_URL: `postgres://recon:${password}@${host}/${database}`,
    });
    await expectFailure(ended, 1, line);
    expect(ended.stderr).not.toContain(password);
  });

  test("because it does not exist is named, without the password", async () => {
    const ended = await recon(["status"], { DATABASE_URL: `${url}_not` });
    await expectFailure(ended, 1, /the database \w+_not at 127\.0\.0\.1:\d+ .*does not exist/);
    expect(ended.stderr).not.toContain(server.password);
  });

  test("that disappears during a command is named, without a stack trace", async () => {
    const proxy = await startTcpProxy(url);
    onTestFinished(() => proxy.close());
    const asked = "backfill --product P1 --from 2026-01-01T00:00:00Z --to 2026-01-01T01:00:00Z --wait";
    const waiting = startRecon(asked.split(" "), { ...SETTINGS, DATABASE_URL: proxy.url });
    await eventually("it waits", () => waiting.said().includes("queued, 0/2 windows"));
    await proxy.refuse();
    const { code, stderr } = await waiting.ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^recon: the database recon_test_\w+ at .* does not answer: .*\n$/),
    });
  });

  test("because the user may not read it is named, without a stack trace", async () => {
    const own = new URL(url);
    own.username = `${own.pathname.slice(1)}_guest`;
    own.password = "guest";
    await sql.unsafe(`create role ${own.username} login password 'guest'`);
    onTestFinished(async () => {
      await sql.unsafe(`drop role ${own.username}`);
    });
    await expectFailure(
      await recon(["status"], { DATABASE_URL: own.href }),
      1,
      /the database refuses: permission denied .*\(42501\)/,
    );
  });
});

test("a broken output is reported in one line", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, "status"], {
    env: SETTINGS,
    stdio: ["ignore", full, "pipe"],
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "recon: standard output cannot be written to (ENOSPC)\n",
  });
});

describe("settings", () => {
  test("a wrong value is named with its path, a secret without its value", async () => {
    const config = writeConfig("wrong.json", {
      products: [{ productId: "P1", since: "yesterday" }],
      pull: { every: "1m" },
    });
    const ended = await recon(["status"], {
      RECON_CONFIG: config,
      OPS_PORT: "99999",
      OPS_TOKENS: "anna:hunter2",
      DATABASE_URL: "mysql://recon:hunter2@host/db",
    });
    await expectFailure(ended, 1, /5 settings are wrong/);
    for (const line of [
      /^ {2}OPS_PORT: .*\(it is "99999"\)$/m,
      /^ {2}OPS_TOKENS\S*: /m,
      /^ {2}DATABASE_URL: /m,
      /^ {2}\S*wrong\.json: products\[0\]\.since: .*\(it is "yesterday"\)$/m,
      /^ {2}\S*wrong\.json: pull\.every: .*\(it is "1m"\)$/m,
    ]) {
      expect(ended.stderr).toMatch(line);
    }
    expect(ended.stderr).not.toContain("hunter2");
  });

  test("all missing settings of production are listed at once", async () => {
    const none = { DATABASE_URL: undefined, RECON_CONFIG: join(folder, "none.json"), NODE_ENV: "production" };
    const ended = await reconAlone(["worker"], none);
    await expectFailure(ended, 1, /7 settings are wrong/);
    for (const name of [
      "DATABASE_URL",
      "REDIS_URL",
      "PROVIDER_BASE_URL",
      "OPS_TOKENS",
      "PROVIDER_USERNAME",
      "PROVIDER_PASSWORD",
      "RECON_CONFIG",
    ]) {
      expect(ended.stderr).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
    }
  });

  test("no sandbox starts in production", async () => {
    await expectFailure(await recon(["sandbox", "--port", "0"], { NODE_ENV: "production" }), 2, /no sandbox/);
  });
});

describe("migrate", () => {
  const blank = useDatabase();
  beforeAll(() => blank.sql.unsafe("drop schema public cascade; create schema public"));

  test("the error about a database that was never migrated names the command that helps, and the command can run twice", async () => {
    const there = { DATABASE_URL: blank.url };
    await expectFailure(await recon(["status"], there), 1, /not up to date.*"recon migrate"/);
    for (const line of [/^[1-9]\d* migrations? done\.\n$/, /^The database is up to date\.\n$/]) {
      const stdout = expect.stringMatching(line);
      expect(await recon(["migrate"], there)).toEqual({ code: 0, stdout, stderr: "" });
    }
    expect(await recon(["status"], there)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("a database of another version", () => {
  const other = useDatabase();
  const there = { DATABASE_URL: other.url };
  const read = [
    ["status"],
    ["mismatches", "list", "--csv"],
    ["report", "--day", "2026-01-01"],
    ["transfers", "list"],
    ["rejected", "list"],
  ];

  test("an older one: no command shows what may be incomplete; one line names the remedy", async () => {
    const [last] = await other.sql<{ hash: string; created_at: string }[]>`
      delete from recon_migrations where id = (select max(id) from recon_migrations) returning hash, created_at`;
    for (const ended of await Promise.all(read.map((args) => recon(args, there)))) {
      await expectFailure(
        ended,
        1,
        /not up to date: it lacks 1 of the \d+ migrations .* Run "recon migrate"/,
      );
      expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    }
    await other.sql`insert into recon_migrations ${other.sql(last ?? {})}`;
    expect(await recon(["status"], there)).toMatchObject({ code: 0, stderr: "" });
  });

  test("a newer one: commands continue, and one line says so", async () => {
    await other.sql`insert into recon_migrations (hash, created_at) values ('newer', ${Date.now()})`;
    for (const args of [["status", "--json"], ["migrate"]]) {
      const { code, stdout, stderr } = await recon(args, there);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          /^recon: a newer version of wallet-recon has migrated .* Upgrade it .*\n$/,
        ),
      });
      expect(stdout).not.toBe("");
    }
  });
});

describe("status", () => {
  test("as JSON is one document and nothing else, whatever is logged, also through npx in the checkout", async () => {
    const env = { PATH: process.env["PATH"], HOME: folder, ...SETTINGS, LOG_LEVEL: "trace" };
    const { stdout } = await run("npx", ["recon", "status", "--json"], { cwd: ROOT, env });
    const context = { sql, config: parseConfig(CONFIG), clock: createTestClock(NOON), log: silentLog };
    expect(JSON.parse(stdout)).toEqual(await readStatus(context));
  });

  test("on a terminal has a line for each product", async () => {
    const { code, stdout, stderr } = await recon(["status"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^PRODUCT .*\nP1 +not begun .*\nP2 +not begun /);
  });
});

describe("mismatches", () => {
  const HOSTILE = "\u001b[2J\u001b]0;owned\u0007anna\u202e\u009b1m\r\n";

  test("are listed on a terminal, one line each, with amount and reason", async () => {
    await open(exampleFinding({ betId: "a" }), exampleFinding({ betId: "b", productId: "P2" }));
    const { code, stdout, stderr } = await recon(["mismatches", "list"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [head, ...lines] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^ID +KIND +STATUS +OWNER +PRODUCT +PLAYER +AT RISK +EFFECT +DAY +SINCE +WHY$/);
    expect(lines).toEqual([
      expect.stringMatching(
        /^1 +payout-differs +open +- +P1 +anna +4\.50 THB +\S+(?: THB)? +2026-11-20 +2026-11-20T12:00:00\S* +paid out 30\.00/,
      ),
      expect.stringMatching(/^2 +payout-differs +open +- +P2 /),
    ]);
  });

  test("say so if there are none", async () => {
    expect(await recon(["mismatches", "list"])).toEqual({ code: 0, stdout: "No mismatches.\n", stderr: "" });
  });

  test("are listed as one JSON document", async () => {
    await open(exampleFinding({ betId: "a" }));
    const page = JSON.parse((await recon(["mismatches", "list", "--json"])).stdout);
    expect(Object.keys(page)).toEqual(["mismatches", "next", "cursor"]);
    expect(page.mismatches).toMatchObject([{ betId: "a", amountAtRisk: "4.5" }]);
  });

  test("are shown one at a time with both sides and their history", async () => {
    await open(exampleFinding());
    const { code, stdout } = await recon(["mismatches", "show", "1"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Mismatch 1: payout-differs, open, 4\.50 THB at risk\n/);
    expect(stdout).toMatch(/^stake +10\.00 +10\.00$/m);
    expect(stdout).toMatch(/^payout +30\.00 +25\.50 +<- differs$/m);
    expect(stdout).toMatch(/^2026-11-20T12:00:00\S* +- +open +recon /m);

    const json = JSON.parse((await recon(["mismatches", "show", "1", "--json"])).stdout);
    expect(json).toMatchObject({ id: "1", provider: { payout: "30.00" }, history: [{ toStatus: "open" }] });
  });

  test("hold text from outside that cannot steer the terminal, and that is complete as JSON", async () => {
    await open(
      exampleFinding({ username: HOSTILE, currency: "\u001b[31mTHB", roundId: HOSTILE, reason: HOSTILE }),
    );
    const shown = await Promise.all(
      [["list"], ["show", "1"], ["list", "--json"], ["show", "1", "--json"]].map((args) =>
        recon(["mismatches", ...args]),
      ),
    );
    for (const { code, stdout } of shown) {
      expect(code).toBe(0);
      expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
    expect(shown[0]?.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(JSON.parse(shown[2]?.stdout ?? "").mismatches[0]).toMatchObject({
      username: HOSTILE,
      reason: HOSTILE,
    });
    expect(JSON.parse(shown[3]?.stdout ?? "")).toMatchObject({
      username: HOSTILE,
      currency: "\u001b[31mTHB",
    });
  });

  test("end quietly when a reader closes the pipe", async () => {
    await open(...Array.from({ length: 1_000 }, (_, index) => exampleFinding({ betId: `bet-${index}` })));
    const script = '{ "$@"; echo "exit code $?" >&2; } | head -1';
    const args = ["mismatches", "list", "--limit", "1000"];
    const ended = await run("/bin/sh", ["-c", script, "sh", process.execPath, PROGRAM, ...args], {
      env: SETTINGS,
    });
    expect(ended.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(ended.stderr).toBe("exit code 0\n");
  });
});

const PROVIDER = {
  PROVIDER_BASE_URL: "http://127.0.0.1:1",
  PROVIDER_USERNAME: "agent",
  PROVIDER_PASSWORD: "hunter2",
};

describe("a worker that cannot start ends at once, says why, and leaves nothing running", () => {
  test("because its port is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => {
      taken.close();
    });
    const { port } = taken.address() as { port: number };
    const ended = await reconAlone(["worker"], { ...PROVIDER, OPS_PORT: String(port), LOG_LEVEL: "warn" });
    await expectFailure(ended, 1, new RegExp(`127\\.0\\.0\\.1:${port}.*Set OPS_PORT to a free port`, "m"));
    expect(ended.stderr).not.toMatch(/cut off/);
  });
});

test("a worker waits for a Redis that does not answer, says what it waits for, and ends when asked", async () => {
  const environment = { ...PROVIDER, REDIS_URL: "redis://:hunter2@127.0.0.1:1", OPS_PORT: "0" };
  const waiting = startRecon(["worker"], { ...SETTINGS, ...environment });
  await eventually("it says so", () =>
    /Redis at 127\.0\.0\.1:1 does not answer.*Check REDIS_URL.*recon waits for/.test(waiting.said()),
  );
  waiting.child.kill("SIGTERM");
  const { code, stderr } = await waiting.ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain("hunter2");
});
