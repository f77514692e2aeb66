import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { callRecon } from "../cli/call-recon.ts";
import { PROGRAM, startRecon } from "../cli/run-recon.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { readJournal } from "./tapped.ts";
import { placeBet, startWalletTarget, type WalletTarget } from "./wallet-target.ts";

const { sql, url } = useDatabase();
let target: WalletTarget;
beforeAll(async () => {
  target = await startWalletTarget();
});
afterAll(() => target.close());
beforeEach(() => emptyTables(sql, ["callback_entries", "rejected_entries"]));

const PATIENT_TAP = join(import.meta.dirname, "patient-tap-process.ts");
const UP = "callbacks pass from";

interface Health {
  readonly recorded: number;
  readonly storing: { readonly caughtUp: boolean; readonly problem: string | null };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "recon-tap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function startTap({ databaseUrl = url, folder = newFolder(), opsPort = "0" } = {}) {
  const port = await ownPort();
  const settings = { DATABASE_URL: databaseUrl, CALLBACK_PORT: String(port), OPS_PORT: opsPort };
  const recon = startRecon(["tap", "--target", target.url, "--journal", folder], settings);
  await eventually("the tap is up", () => recon.said().includes(UP));
  const opsUrl = /health is at (http:\S+)\/healthz/.exec(recon.said())?.[1] ?? "";
  return {
    ...recon,
    port,
    folder,
    health: async () => (await (await fetch(`${opsUrl}/healthz`)).json()) as Health,
    opsUrl,
  };
}

/** A tap whose answers wait for the journal even on a slow machine. */
async function startPatientTap(databaseUrl: string) {
  const folder = newFolder();
  const child = spawn(process.execPath, [PATIENT_TAP, target.url, folder, databaseUrl], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const [line] = await once(child.stdout, "data");
  return { child, ended, folder, port: Number(line) };
}

const idsOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const storedIds = async () => {
  const rows = await sql<{ id: string }[]>`select request_id as id from callback_entries`;
  return rows.map(({ id }) => id);
};
const eventuallyStored = async (count: number) =>
  await eventually(`${count} entries are stored`, async () => (await storedIds()).length === count);

describe("recon tap", () => {
  test("turns passing callbacks into entries, with the money that the wallet moved", async () => {
    const { port, health, opsUrl } = await startTap();
    expect(await placeBet(port, "one")).toBe(true);
    await eventuallyStored(1);
    expect(
      await sql`
      select callback, request_id, product_id, username, currency, txn_id, round_id, status, bet_amount, moved,
        balance_before, balance_after from callback_entries`,
    ).toEqual([
      {
        callback: "placeBets",
        request_id: "one",
        product_id: "P1",
        username: "anna",
        currency: "THB",
        txn_id: "bet-one",
        round_id: "round-one",
        status: "OPEN",
        bet_amount: "1.25",
        moved: "-1.25",
        balance_before: "100",
        balance_after: "98.75",
      },
    ]);
    await eventually("it says so", async () => (await health()).storing.caughtUp);
    expect(await health()).toMatchObject({
      status: "alive",
      recorded: 1,
      unrecorded: 0,
      storing: { problem: null },
    });
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
    expect(metrics).toContain('recon_tap_callbacks_total{outcome="recorded"} 1');
    expect(metrics).toContain('recon_tap_entries_total{outcome="added"} 1');
  });

  test("two taps in a row store a callback once; one whose health port is in use continues, and says so", async () => {
    const first = await startTap();
    const second = await startTap({ opsPort: new URL(first.opsUrl).port });
    await eventually("it says so", () =>
      second.said().includes("runs without health and metrics: set OPS_PORT to a free port"),
    );
    const taps = [first, second];
    for (const { port } of taps) expect(await placeBet(port, "both")).toBe(true);
    await Promise.all(taps.map(({ port }, index) => placeBet(port, `own-${index}`)));
    await eventuallyStored(3);
    expect((await storedIds()).sort()).toEqual(["both", "own-0", "own-1"]);
    expect(await sql`select * from rejected_entries`).toEqual([]);
  });

  test("starts without PostgreSQL, passes everything on while it is unavailable, and stores it afterwards", async () => {
    const proxy = await startTcpProxy(url);
    onTestFinished(() => proxy.close());
    await proxy.refuse();
    const { port, health } = await startTap({ databaseUrl: proxy.url });
    expect(await placeBet(port, "early")).toBe(true);
    await proxy.restore();
    await eventuallyStored(1);
    await proxy.refuse();
    const ids = idsOf("away", 60);
    for (const id of ids) expect(await placeBet(port, id)).toBe(true);
    await eventually("it says what hinders it", async () => (await health()).storing.problem !== null);
    await eventually("all are recorded", async () => (await health()).recorded === 61);
    expect(await health()).toMatchObject({ unrecorded: 0 });
    expect(await storedIds()).toEqual(["early"]);
    await proxy.restore();
    await eventuallyStored(61);
    expect((await storedIds()).sort()).toEqual(["early", ...ids].sort());
  });

  test("stores nothing while a function of another role exists, says so, and stores everything once it is dropped", async () => {
    const role = `${new URL(url).pathname.slice(1)}_planter`;
    await sql.unsafe(`create role ${role}; grant create on schema public to ${role}; set role ${role};
      create function public.to_jsonb(callback_entries) returns jsonb language sql as 'select null::jsonb'; reset role`);
    onTestFinished(async () => void (await sql.unsafe(`drop owned by ${role}; drop role ${role}`)));
    const { port, health } = await startTap();
    expect(await placeBet(port, "early")).toBe(true);
    await eventually("it says what hinders it", async () =>
      /another role has made .* function public\.to_jsonb/.test((await health()).storing.problem ?? ""),
    );
    expect(await storedIds()).toEqual([]);
    await sql.unsafe("drop function to_jsonb(callback_entries)");
    await eventuallyStored(1);
  });

  test("if killed under load, it loses no answered callback, and stores each once after its restart", async () => {
    const proxy = await startTcpProxy(url);
    onTestFinished(() => proxy.close());
    const first = await startPatientTap(proxy.url);
    await placeBet(first.port, "stored");
    await eventuallyStored(1);
    // Stored callbacks are still in the journal, and later ones are only there.
    await proxy.refuse();
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    onTestFinished(() => agent.destroy());
    const answered = ["stored"];
    const sending = idsOf("killed", 150).map(async (id) => {
      if (await placeBet(first.port, id, agent)) answered.push(id);
      if (answered.length === 40) first.child.kill("SIGKILL");
    });
    await Promise.all(sending);
    await first.ended;
    expect(answered.length).toBeGreaterThanOrEqual(40);
    expect(answered.length).toBeLessThan(151);
    const [segment = ""] = readdirSync(first.folder);
    appendFileSync(join(first.folder, segment), '{"callback":"placeBets","receivedAt":"2026-');
    await proxy.restore();
    const second = await startTap({ folder: first.folder });
    await placeBet(second.port, "after");
    await eventually("all of it is stored", async () => (await storedIds()).includes("after"));
    const stored = await storedIds();
    expect(new Set(stored).size).toBe(stored.length);
    expect(stored).toEqual(expect.arrayContaining(answered));
    // Answers of the target that no longer reached their callers.
    expect(target.taken).toEqual(expect.arrayContaining(stored));
    expect(await sql`select * from rejected_entries`).toEqual([]);
  });

  test("needs a folder that no other tap uses; when stopped, it has stored everything, or keeps it in the journal for its next start", async () => {
    const { port, child, ended, folder } = await startTap();
    const other = startRecon(["tap", "--target", target.url, "--journal", folder], {
      DATABASE_URL: url,
      CALLBACK_PORT: "0",
    });
    const line = "another tap keeps its journal in";
    expect(await other.ended).toMatchObject({ code: 1, stderr: expect.stringContaining(line) });
    const ids = idsOf("last", 20);
    for (const id of ids) expect(await placeBet(port, id)).toBe(true);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
    const kept = (await readJournal(folder)).map(({ request }) => JSON.parse(request).id);
    expect([...new Set([...(await storedIds()), ...kept])].sort()).toEqual(ids.sort());
  });

  test("on a full disk it passes everything on, and logs that callbacks were not recorded", async () => {
    const [folder, port] = [newFolder(), await ownPort()];
    const settings = { DATABASE_URL: url, CALLBACK_PORT: String(port), OPS_PORT: "0" };
    // No file may have even one byte.
    const limited = ['ulimit -f 0; exec "$0" "$@"', process.execPath, PROGRAM];
    const child = spawn("bash", ["-c", ...limited, "tap", "--target", target.url, "--journal", folder], {
      env: { PATH: process.env["PATH"], ...settings },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    await eventually("the tap is up", () => said.includes(UP));
    for (const id of idsOf("full", 30)) expect(await placeBet(port, id)).toBe(true);
    await eventually("it says so", () => said.includes("callbacks were answered and not recorded"));
    const opsUrl = /health is at (http:\S+)\/healthz/.exec(said)?.[1];
    await expect
      .poll(async () => await (await fetch(`${opsUrl}/healthz`)).json())
      .toMatchObject({ recorded: 0, unrecorded: 30 });
  });

  test.each([
    [
      ["--target", "ftp://wallet.example"],
      2,
      /--target must be a URL such as https:\/\/wallet.example\/callbacks/,
    ],
    [["--target", "http://a:b@wallet.example"], 2, /without query and credentials/],
    [["--target", "http://wallet.example", "--journal-mb", "all"], 2, /--journal-mb must be a number of MiB/],
    [[], 2, /required option '--target <url>' not specified/],
  ])("%j is refused in one line", async (options, code, line) => {
    const ended = await callRecon(["tap", ...options], { DATABASE_URL: url, CALLBACK_PORT: "0" });
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(line) });
  });

  test("needs a folder that it may write to", async () => {
    const options = ["tap", "--target", target.url, "--journal", "/dev/null/nowhere"];
    const { ended } = startRecon(options, { DATABASE_URL: url, CALLBACK_PORT: "0" });
    const line = "the journal cannot be kept in /dev/null/nowhere";
    expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining(line) });
  });
});
