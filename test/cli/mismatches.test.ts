import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, NOON } from "../support/examples.ts";
import { exampleFinding, LEDGER_SIDE } from "../support/findings.ts";
import { openMismatches, readStatuses } from "../support/open-mismatches.ts";
import { callRecon } from "./call-recon.ts";
import { PROGRAM } from "./run-recon.ts";

const run = promisify(execFile);
const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-mismatches-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "P1" }, { productId: "P2" }] };
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const ME = `cli:${userInfo().username}`;

beforeEach(async () => {
  await emptyTables(sql);
});

const recon = (args: string) => {
  const words = Array.from(args.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
  return callRecon(["mismatches", ...words], SETTINGS);
};
const open = (...fields: Partial<MismatchContent>[]) =>
  openMismatches(sql, parseConfig(CONFIG), NOON, fields);
const statuses = () => readStatuses(sql);
const says = (code: number, line: RegExp) => ({
  code,
  stdout: "",
  stderr: expect.stringMatching(new RegExp(`^recon: ${line.source}`)),
});

test("a mismatch is acknowledged, resolved with an adjustment, and reopened, under the name of the person who did it", async () => {
  await open({});
  expect(await recon('ack 1 --note "I look"')).toEqual({
    code: 0,
    stdout: "Mismatch 1 is acknowledged.\n",
    stderr: "",
  });
  expect((await recon("resolve 1 --note paid --adjustment -4.50 --ref R-1")).stdout).toBe(
    "Mismatch 1 is resolved.\n",
  );
  const { code, stdout } = await recon("show 1");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Mismatch 1: payout-differs, resolved, 4\.50 THB at risk\n.*\nnote: paid\n/);
  expect(stdout).toMatch(
    new RegExp(`^ADJUSTED +AMOUNT +REF +BY +NOTE\n\\S+ +-4\\.5 THB +R-1 +${ME} +paid$`, "m"),
  );
  expect(stdout).toMatch(new RegExp(`^\\S+ +open +acknowledged +${ME} +I look$`, "m"));
  expect((await recon("resolve 1 --note paid --adjustment -4.5 --ref R-1")).code).toBe(0);
  expect(await recon("resolve 1 --note paid --adjustment 4.5 --ref R-1")).toEqual(
    says(1, /ref "R-1" was used for another adjustment/),
  );
  expect((await recon("reopen 1 --note bounced")).stdout).toBe("Mismatch 1 is reopened.\n");
  expect(await sql`select from adjustments`).toHaveLength(1);
});

test("what to do names the amount, the direction and the player: of a win that the provider never knew, take it back", async () => {
  const bet = { kind: "missing-at-provider", username: "player-014", provider: null } as const;
  const own = { ...LEDGER_SIDE, username: "player-014" };
  await open(
    { ...bet, amountAtRisk: amount("3000"), ledger: { ...own, stake: "100", payout: "3100", moved: "3000" } },
    { ...bet, amountAtRisk: amount("100"), ledger: { ...own, stake: "100", payout: "0", moved: "-100" } },
    { kind: "balance-differs", provider: null },
  );
  expect((await recon("show 1")).stdout).toContain(
    "\nto do: Ask the provider for the outcome of the bet. If the bet was never played there, take 3\u202f000.00 THB back from player-014.\n",
  );
  expect((await recon("show 2")).stdout).toMatch(
    /\nto do: .* never played there, give 100\.00 THB to player-014\.\n/,
  );
  const incident = (await callRecon(["incidents", "show", "1"], SETTINGS)).stdout;
  expect(incident).toContain(
    "For mismatch 1: take 3\u202f000.00 THB back from player-014; for mismatch 2: give 100.00 THB to player-014.\n",
  );
  const { mismatches } = JSON.parse((await recon("list --json")).stdout);
  expect(mismatches.map(({ id, effect }: { id: string; effect: string | null }) => [id, effect])).toEqual([
    ["1", "3000"],
    ["2", "-100"],
    ["3", null],
  ]);
  expect(JSON.parse((await recon("show 2 --json")).stdout)).toMatchObject({ effect: "-100" });
});

test("the list is filtered by day and currency, and sorted; a wrong value is named", async () => {
  await open({}, { amountAtRisk: amount("12") }, { currency: "USD" }, { kind: "balance-differs" });
  const ids = async (options: string) => {
    const { mismatches } = JSON.parse((await recon(`list --json ${options}`)).stdout);
    return mismatches.map(({ id }: { id: string }) => id).join(" ");
  };
  expect(await ids("--day 2026-11-20 --currency THB --sort at-risk")).toBe("2 1");
  expect(await ids("--day 2026-11-20 --sort happened")).toBe("3 2 1");
  expect(await ids("--day 2026-11-21")).toBe("");
  const page = JSON.parse((await recon("list --json --sort at-risk --limit 1")).stdout);
  expect(await ids(`--sort at-risk --limit 1 --after ${page.next}`)).toBe("4");
  expect((await recon("list --day 2026-11-20 --currency USD")).stdout).toMatch(
    /EFFECT +DAY .*\n3 .* -4\.5 +2026-11-20 /,
  );
  expect((await recon("show 1")).stdout).toMatch(/\ncounts in the statement of +2026-11-20\n/);
  expect(await recon("list --day monday")).toEqual(
    says(2, /day must be a date such as 2026-11-20, but is "monday"/),
  );
  expect(await recon("list --currency thb")).toEqual(says(2, /currency must be a code .* but is "thb"/));
  expect(await recon("list --sort newest")).toEqual(
    says(2, /there is no sort "newest"; it is one of first-seen/),
  );
});

test("several mismatches are ignored by their ids, with one JSON document as the answer", async () => {
  await open({}, {}, { currency: "USD" });
  const { code, stdout } = await recon("ignore 1 3 --note known --json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    action: "ignore",
    dryRun: false,
    ids: ["1", "3"],
    count: 2,
    amounts: [
      { currency: "THB", amount: "4.5", count: 1 },
      { currency: "USD", amount: "4.5", count: 1 },
    ],
  });
  expect(await statuses()).toBe("ignored open ignored");
});

describe("a filter instead of ids", () => {
  beforeEach(() => open({}, { amountAtRisk: amount("0.10") }, { productId: "P2" }, { currency: "USD" }));

  test("only counts in a dry run, and changes nothing", async () => {
    expect(await recon("resolve --product P1 --dry-run")).toEqual({
      code: 0,
      stdout: "Would be resolved: 3 mismatches, 4.60 THB and 4.50 USD at risk. Nothing was changed.\n",
      stderr: "",
    });
    expect(await statuses()).toBe("open open open open");
  });

  test("acts if --yes agrees", async () => {
    expect((await recon("resolve --min-amount 1 --product P1 --note known --yes")).stdout).toBe(
      "Resolved: 2 mismatches, 4.50 THB and 4.50 USD at risk.\n",
    );
    expect(await statuses()).toBe("resolved open open resolved");
  });

  test("is refused without --yes and a terminal", async () => {
    expect(await recon("ack --kind payout-differs --note known")).toEqual(
      says(
        2,
        /To be acknowledged: 4 mismatches, 9\.10 THB and 4\.50 USD at risk\. There is no terminal to confirm in: add --yes/,
      ),
    );
    expect(await statuses()).toBe("open open open open");
  });

  test.each([
    ["y", "acknowledged open open open", 0, "Acknowledged: 1 mismatch, 4.50 THB at risk."],
    ["", "open open open open", 1, "Nothing was changed."],
  ])("asks on a terminal: the answer %j makes them %s", async (answer, after, code, said) => {
    // `script` gives the command a terminal of its own, as if a user typed there.
    const command = `${process.execPath} ${PROGRAM} mismatches ack --product P1 --min-amount 1 --to 2026-11-20T12:00:01Z --username anna --note known`;
    const limited = await sql`update mismatches set username = 'bo' where id = 4`;
    expect(limited.count).toBe(1);
    const ended = await run(
      "/bin/sh",
      ["-c", `printf '%s\\n' '${answer}' | script -qec "$COMMAND" /dev/null; echo "exit $?"`],
      { env: { PATH: process.env["PATH"], COMMAND: command, ...SETTINGS } },
    );
    expect(ended.stdout).toContain("To be acknowledged: 1 mismatch, 4.50 THB at risk. Continue? [y/N]");
    expect(ended.stdout).toContain(said);
    expect(ended.stdout).toContain(`exit ${code}`);
    expect(await statuses()).toBe(after);
  });
});

test.each<[string, number, RegExp]>([
  ["ack 9 x --note x", 1, /there is no mismatch "9", "x"/],
  ["reopen 1 --note x", 1, /mismatch 1 is open: it cannot be reopened/],
  ["resolve 1", 2, /note is missing/],
  ["ack --note x", 2, /give ids, or a filter such as --kind/],
  ["ack 1 --kind net-differs --note x", 2, /give either ids or a filter, not both/],
  ["ack --kind lost --note x --yes", 2, /there is no kind "lost"; it is one of /],
  ["resolve 1 --note x --adjustment lots --ref R", 2, /adjustment must be a decimal number, but is "lots"/],
  ["resolve --kind net-differs --note x --adjustment 1 --ref R --yes", 2, /adjustment belongs to a single/],
  ["list --after x --from tomorrow", 2, /from must be a date-time with an offset .* but is "tomorrow"/],
])("recon mismatches %s fails with exit code %i and one clear line", async (args, code, line) => {
  await open({}, {});
  const ended = await recon(args);
  expect(ended).toEqual(says(code, line));
  expect(ended.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(await statuses()).toBe("open open");
});

test("the list as CSV is complete, unless a limit is given", async () => {
  await open(...Array.from({ length: 1_001 }, (_, index) => ({ betId: `bet-${index}`, username: "@anna" })));
  const lines = async (args: string) => (await recon(args)).stdout.trimEnd().split("\n");
  const whole = await lines("list --csv");
  expect(whole).toHaveLength(1_002);
  expect(whole[0]).toMatch(/^id,kind,status,productId,username,/);
  expect(whole[1_001]).toMatch(/^1001,payout-differs,open,P1,'@anna,THB,bet-1000,/);
  expect(await lines("list --csv --limit 2")).toHaveLength(3);
  expect(await lines("list")).toHaveLength(102);
  const script = '{ "$@"; echo "exit $?" >&2; } | head -1';
  const args = [PROGRAM, "mismatches", "list", "--csv"];
  const cut = await run("/bin/sh", ["-c", script, "sh", process.execPath, ...args], { env: SETTINGS });
  expect(cut.stderr).toBe("exit 0\n");
});

describe("one mismatch is shown with", () => {
  test("what each side reported when", async () => {
    await appendEntries(sql, [exampleEntry({ requestId: "q-1", moved: amount("-10") })]);
    await open({});
    const { stdout } = await recon("show 1");
    expect(stdout).toMatch(/^WHEN +SIDE +SAID +ID +STAKE +PAYOUT +MOVED +CURRENCY +SEEN +REQUEST$/m);
    expect(stdout).toMatch(
      /^2026-11-20T11:55:00.000Z +ledger +placeBets OPEN +bet-1 +10 +- +-10 +THB +\S+ +q-1$/m,
    );
    const { timeline, adjustments } = JSON.parse((await recon("show 1 --json")).stdout);
    expect([timeline.length, adjustments.length]).toEqual([1, 0]);
  });

  test("marks on the fields that differ, if both sides have them, with amounts compared as numbers", async () => {
    const { provider, ledger } = exampleFinding();
    await open(
      { provider: { ...provider, stake: "10", status: "VOID" } as MismatchContent["provider"] },
      { ledger: null },
      { provider: null, ledger },
    );
    const marked = async (id: number) =>
      Array.from((await recon(`show ${id}`)).stdout.matchAll(/^(\w+) .*<- differs$/gm), ([, field]) => field);
    expect(await Promise.all([1, 2, 3].map(marked))).toEqual([["status", "payout"], [], []]);
  });

  test("the sides of a transfer, if the mismatch is about one", async () => {
    const side = {
      status: "SUCCESS",
      amount: "10.00",
      currency: "THB",
      username: "anna",
      productId: "P1",
      at: "2026-11-20T12:00:00.000Z",
    };
    await open({
      kind: "transfer-differs",
      transactionRef: "T-1",
      betId: null,
      transactionId: null,
      roundId: null,
      provider: side,
      ledger: { ...side, status: "inconclusive", amount: "12.00" },
    });
    const { stdout } = await recon("show 1");
    expect(stdout).toMatch(/^amount +10\.00 +12\.00 +<- differs$/m);
    expect(stdout).toMatch(/^status +SUCCESS +inconclusive$/m);
    expect(stdout).toMatch(/^transaction ref +T-1$/m);
  });
});

test("owner, ticket and reminder are set by ids and by filters, under the name of the person, and audited", async () => {
  await open({}, {}, { productId: "P2" });
  expect((await recon("assign 1 2 --owner me")).stdout).toBe("Assigned: 2 mismatches, 9.00 THB at risk.\n");
  expect((await recon('ticket 1 --ticket PRV-12 --note "by mail"')).stdout).toBe("Mismatch 1 is changed.\n");
  const at = "2036-01-01T09:00:00Z";
  expect((await recon(`remind --owned-by me --product P1 --at ${at} --yes --json`)).stdout).toMatch(
    /^\{\s*"action": "remind",\s*"dryRun": false,\s*"ids": \[\s*"1",\s*"2"/,
  );
  const { stdout } = await recon("show 1");
  expect(stdout).toMatch(
    new RegExp(
      `^owner +${ME}\nticket at the provider +PRV-12\nwith the provider since +\\S+Z\nreminder +2036-`,
      "m",
    ),
  );
  expect(stdout).toMatch(
    new RegExp(`^\\S+ +open +open +${ME} +ticket PRV-12, with the provider: by mail$`, "m"),
  );
  expect((await recon("ticket 1 --answered")).code).toBe(0);
  expect(JSON.parse((await recon("show 1 --json")).stdout)).toMatchObject({
    ticket: "PRV-12",
    withProvider: null,
  });

  const ids = async (options: string) => {
    const { mismatches } = JSON.parse((await recon(`list --json ${options}`)).stdout);
    return mismatches.map(({ id }: { id: string }) => id).join(" ");
  };
  expect([await ids("--owner me"), await ids("--owner nobody"), await ids("--due")]).toEqual([
    "1 2",
    "3",
    "",
  ]);
  expect(await ids("--sort remind-at")).toBe("1 2");
  expect((await recon("assign --owned-by me --owner tom --dry-run")).stdout).toBe(
    "Would be assigned: 2 mismatches, 9.00 THB at risk. Nothing was changed.\n",
  );
  expect((await recon("assign --owned-by me --owner tom --yes")).code).toBe(0);
  expect(await ids("--owner tom")).toBe("1 2");
  expect((await recon("list")).stdout).toMatch(/^ID +KIND +STATUS +OWNER .*\n1 +payout-differs +open +tom /);
  const incidents = (args: string) => callRecon(["incidents", ...args.split(" ")], SETTINGS);
  expect((await incidents("assign 1 2 --owner tom")).stdout).toBe("2 incidents are assigned.\n");
  expect((await incidents("show 1")).stdout).toMatch(/^Owner: tom$/m);
  const listed = JSON.parse((await incidents("list --owner tom --json")).stdout).incidents;
  expect(listed).toHaveLength(2);
  await incidents("ticket 2 --ticket PRV-7");
  const incidentIds = async (options: string) => {
    const { stdout } = await incidents(`list --json ${options}`);
    return JSON.parse(stdout).incidents.map(({ id }: { id: string }) => id);
  };
  expect(await incidentIds("--with-provider")).toEqual(["2"]);
  await incidents("remind 2 --at 2026-12-03T09:00:00Z");
  expect(await incidentIds("--sort remind-at")).toEqual(["2"]);
  await incidents("remind 1 --at 2026-12-03T09:00:00Z");
  const { next } = JSON.parse((await incidents("list --json --sort remind-at --limit 1")).stdout);
  expect(await incidentIds(`--sort remind-at --after ${next}`)).toEqual(["2"]);
  expect(await incidentIds("--happened-from 2026-11-20 --happened-to 2026-11-21")).toHaveLength(2);
  expect(await incidentIds("--happened-from 2026-11-21")).toEqual([]);
  expect(await incidents("list --happened-from soon")).toEqual(
    says(2, /happenedFrom must be a date-time with an offset .* but is "soon"/),
  );
  expect(await incidents("assign 1 9 --nobody")).toEqual(says(1, /there is no incident "9"/));
  const audited = await sql`select who, route, status from audit_log order by id limit 1`;
  expect(audited).toEqual([{ who: ME, route: "recon mismatches assign", status: 0 }]);
});

test.each([
  ["assign 1", /give --owner, or --nobody/],
  ["assign 1 --owner mia --nobody", /give either --owner or --nobody/],
  ["ticket 1", /give --ticket, or --none/],
  ["remind 1 --at soon", /remindAt must be a date-time with an offset .* but is "soon"/],
  ["remind 1 --at 2020-01-01T00:00:00Z", /remindAt "2020-01-01T00:00:00.000Z" has passed/],
  ["assign --owner mia", /give ids, or a filter/],
])("recon mismatches %s is refused in one line", async (args, line) => {
  await open({});
  expect(await recon(args)).toEqual(says(2, line));
});
