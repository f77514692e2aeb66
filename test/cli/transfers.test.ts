import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { readTransferLines } from "../../src/cli/commands/transfers.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { callRecon } from "./call-recon.ts";
import { type Ended, PROGRAM } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-transfers-"));
writeFileSync(
  join(folder, "config.json"),
  JSON.stringify({ products: [{ productId: "W1", walletMode: "transfer" }] }),
);
afterAll(() => rmSync(folder, { recursive: true }));

const GIVEN = {
  username: "anna",
  productId: "W1",
  currency: "THB",
  transactionRef: "ref-1",
  type: "WITHDRAW",
  amount: "10.00",
  sentAt: "2026-11-20T12:00:00Z",
};
const LISTED = {
  transactionRef: "ref-1",
  productId: "W1",
  username: "anna",
  type: "WITHDRAW",
  amount: "10.00",
  currency: "THB",
  status: "pending",
  attempts: 0,
  sentAt: "2026-11-20T12:00:00.000Z",
  // It was sent long ago: the hand-over.
  nextVerifyAt: expect.any(String),
  decidedAt: null,
};
const line = (fields: object = {}) => JSON.stringify({ ...GIVEN, ...fields });

beforeEach(async () => {
  await emptyTables(sql, ["transfers", "transfer_answers"]);
});

const ENVIRONMENT = { DATABASE_URL: url, RECON_CONFIG: join(folder, "config.json"), LOG_LEVEL: "warn" };
const recon = (...args: string[]) => callRecon(["transfers", ...args], ENVIRONMENT);
const json = async (...args: string[]) => JSON.parse((await recon(...args, "--json")).stdout);

/** @param input standard input */
const add = (input: string, ...args: string[]) =>
  callRecon(["transfers", "add", ...args], ENVIRONMENT, input);

/** The same in a process of its own. */
function addAlone(input: string): Ended {
  const env = { PATH: process.env["PATH"], ...ENVIRONMENT };
  const ended = spawnSync(process.execPath, [PROGRAM, "transfers", "add"], { input, encoding: "utf8", env });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

test("lines on standard input become transfers, which can be listed and shown; the same input again has no effect", async () => {
  const input = `${line()}\n\n${line({ transactionRef: "ref-2" })}\n`;
  expect(addAlone(input)).toEqual({ code: 0, stdout: "2 handed over.\n", stderr: "" });
  const { stdout } = await add(`${input}${line({ transactionRef: "ref-3" })}`, "--json");
  expect(JSON.parse(stdout)).toEqual({ added: 1, known: 2 });
  const newer = ["ref-3", "ref-2"].map((transactionRef) => ({ ...LISTED, transactionRef }));
  expect(await json("list")).toEqual({ transfers: [...newer, LISTED], next: null });
  const shown = (await recon("show", "ref-1")).stdout;
  expect(shown).toMatch(/^transactionRef +ref-1$/m);
  expect(shown).toContain("The provider has not been asked yet.");
  expect((await recon("list")).stdout).toMatch(/^ref-1 +W1 +anna +WITHDRAW +10\.00 THB +pending +0 /m);
});

test("a wrong line, or a known ref with other content, keeps every line from becoming a transfer", async () => {
  const wrong = `${line({ transactionRef: "good" })}\n${line({ amount: 10 })}\nnot json\n`;
  expect(await add(wrong)).toEqual({
    code: 2,
    stdout: "",
    stderr:
      'recon: line 2: amount must be text with two decimals, above zero, such as "10.00", but is the number 10\n' +
      "line 3: not JSON: not json\nNothing was handed over.\n",
  });
  await add(line());
  const conflicting = `${line({ transactionRef: "a" })}\n${line({ amount: "11.00" })}`;
  expect(await add(conflicting)).toEqual({
    code: 1,
    stdout: "",
    stderr:
      'recon: line 2: transactionRef "ref-1" is known already, with amount 10.00, not 11.00\nNothing was handed over.\n',
  });
  expect(await sql`select transaction_ref as ref from transfers`).toEqual([{ ref: "ref-1" }]);
});

test("an inconclusive transfer is closed with a note, in the name of the person who runs the command", async () => {
  await add(line());
  expect(await recon("close", "ref-1", "--note", "x")).toMatchObject({
    code: 1,
    stderr:
      'recon: transfer "ref-1" cannot be closed: it is pending, and only an inconclusive transfer can be closed\n',
  });
  await sql`update transfers set status = 'inconclusive'`;
  expect(await recon("close", "ref-1")).toMatchObject({ code: 2, stderr: expect.stringContaining("--note") });
  expect(await recon("close", "ref-1", "--note", "found it")).toEqual({
    code: 0,
    stdout: "ref-1 is closed. It stays inconclusive, and the worker does not verify it any more.\n",
    stderr: "",
  });
  expect(await json("show", "ref-1")).toMatchObject({
    status: "inconclusive",
    nextVerifyAt: null,
    closedBy: `cli:${userInfo().username}`,
    note: "found it",
  });
});

test.each<[args: string[], code: number, message: string]>([
  [["show", "nothing"], 1, 'there is no transfer "nothing"'],
  [
    ["list", "--status", "gone"],
    2,
    'there is no status "gone"; it is one of pending, accepted, rejected, inconclusive',
  ],
])("%j is one clear line", async (args, code, message) => {
  expect(await recon(...args)).toEqual({ code, stdout: "", stderr: `recon: ${message}\n` });
});

test("without lines on standard input the command says so", async () => {
  const message = "there are no transfers on standard input";
  expect(await add("")).toEqual({ code: 2, stdout: "", stderr: `recon: ${message}\n` });
});

describe("lines", () => {
  const KNOWN = { products: ["W1"], now: NOON };
  async function* chunks(...texts: string[]) {
    for (const text of texts) yield Buffer.from(text);
  }

  test("are read across chunks, with any end of line, and with any byte order mark", async () => {
    const text = `\ufeff${line({ username: "päuli" })}\r\n${line({ transactionRef: "ref-2" })}`;
    const bytes = Buffer.from(text);
    const cut = bytes.indexOf("ä") + 1;
    async function* input() {
      yield bytes.subarray(0, cut);
      yield bytes.subarray(cut);
    }
    const given = await readTransferLines(input(), KNOWN);
    expect(given.map(({ label, transfer }) => [label, transfer.username])).toEqual([
      ["line 1: ", "päuli"],
      ["line 2: ", "anna"],
    ]);
  });

  test("in another encoding are refused, because names would change", async () => {
    const latin = Buffer.from(line({ username: "päuli" }), "latin1");
    const given = readTransferLines(Readable.from([latin]), KNOWN);
    await expect(given).rejects.toThrow("standard input is not UTF-8: nothing was handed over");
  });

  test("of a very wrong input are named up to a limit, with the number of the others", async () => {
    const failure = await readTransferLines(chunks("x\n".repeat(50)), KNOWN).catch(
      (error: Error) => error.message,
    );
    expect(failure).toMatch(
      /^line 1: .*\n(?:line \d+: .*\n){19}and 30 more lines are wrong\nNothing was handed over\.$/,
    );
  });

  test("beyond the limit of one call are refused before any of them is written", async () => {
    const many = chunks("x\n".repeat(100_001));
    await expect(readTransferLines(many, KNOWN)).rejects.toThrow("holds more than 100000 transfers");
    async function* endless() {
      for (;;) yield Buffer.alloc(1024 * 1024, " ");
    }
    await expect(readTransferLines(endless(), KNOWN)).rejects.toThrow("holds more than 32 MiB");
  });
});
