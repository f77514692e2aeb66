import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { DAY_MS, TODAY, useClosing } from "../flows/closing/closing-world.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { READ_TOKEN, TOKENS } from "../support/dashboard.ts";
import { amount, HOUR_MS } from "../support/examples.ts";
import { callRecon } from "./call-recon.ts";

const { sql, url, clock, diffAt, receive, listed, ledgerBegins } = useDiffWorld();
const CONFIG = {
  products: [{ productId: "P1" }, { productId: "EMPTY" }, { productId: "WALLET", walletMode: "transfer" }],
};
const { context, fetched, close, correct } = useClosing(sql, clock, CONFIG);
const folder = mkdtempSync(join(tmpdir(), "recon-invoice-"));
afterAll(() => rmSync(folder, { recursive: true }));
const FILE = join(folder, "invoice.csv");
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));

async function check(file: string | Buffer, ...args: string[]) {
  writeFileSync(FILE, file);
  const settings = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
  return await callRecon(["invoice", "check", FILE, "--month", "2026-11", ...args], settings);
}

const HEAD = "product,currency,turnover,ggr";
const second = { id: "rec-2", betId: "bet-2", roundId: "round-2" };
const DOLLARS = { currency: "USD", txnId: "bet-3", roundId: "round-3" };

/** Stakes of 20 and payouts of 25.50 in THB, and 10 and 0 in USD; only this day of the month is closed. */
beforeEach(async () => {
  await ledgerBegins();
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  await receive(...callbacksOf("20"), ...callbacksOf("5.5", { txnId: "bet-2", roundId: "round-2" }));
  await receive(...callbacksOf("0", DOLLARS));
  await listed(recordOf("20"), recordOf("5.5", second));
  await listed(recordOf("0", { id: "rec-3", betId: "bet-3", roundId: "round-3", currency: "USD" }));
  await diffAt(20 * 60);
  clock.set(TODAY + DAY_MS + HOUR_MS);
  await close("2026-11-20");
});

const WHOLE = `${HEAD}\nP1,THB,20.00,-5.50\nP1,USD,10,10\n`;

/** The provider says 7.50 instead of 5.50 for the second bet: the ggr falls by 2. */
async function restate(): Promise<void> {
  await listed(recordOf("7.5", second));
  await diffAt(40 * 60);
  await correct();
}

describe("an invoice", () => {
  test("that has the closed figures leaves nothing, and the open days are said", async () => {
    const { code, stdout } = await check(WHOLE);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /2 {5}P1 {7}ggr {7}-5\.50 THB {2}-5\.50 THB {2}0\.00 THB {4}0\.00 THB {5}0\.00 THB/,
    );
    expect(stdout).toContain("Open days, which are in no closed figure:\n2026-11-01  It lies before");
    expect(stdout).toContain("Nothing is left");
  });

  test("that has other figures has each difference, and the command fails", async () => {
    const { code, stdout } = await check(`${HEAD}\nP1,THB,21,-5.50\nP1,USD,10,9.99\n`, "--json");
    expect(code).toBe(1);
    const { agrees, lines } = JSON.parse(stdout);
    expect(agrees).toBe(false);
    expect(lines).toMatchObject([
      {
        line: 2,
        turnover: { invoice: "21", closed: "20", difference: "1", corrections: "0", left: "1" },
        ggr: { left: "0" },
      },
      { line: 3, turnover: { left: "0" }, ggr: { invoice: "9.99", closed: "10", left: "-0.01" } },
    ]);
  });

  test("of after a correction is explained by it, to the last digit", async () => {
    await restate();
    const { code, stdout } = await check(`${HEAD}\nP1,THB,20,-7.5\nP1,USD,10,10\n`, "--json");
    const [line] = JSON.parse(stdout).lines;
    expect(line.ggr).toEqual({
      invoice: "-7.5",
      closed: "-5.5",
      difference: "-2",
      corrections: "-2",
      left: "0",
    });
    expect(line.corrections).toMatchObject([{ day: "2026-11-20", betId: "bet-2" }]);
    expect(code).toBe(0);
  });

  test("of before a correction leaves what the correction changed, and names the bet", async () => {
    await restate();
    const { code, stdout } = await check(WHOLE);
    expect(code).toBe(1);
    expect(stdout).toMatch(/ggr {7}-5\.50 THB {2}-5\.50 THB {2}0\.00 THB {4}-2\.00 THB {4}2\.00 THB/);
    expect(stdout).toMatch(/2026-11-20 {2}P1 {7}anna {4}bet-2/);
  });

  test("that lacks a product and currency of the month names it with its figures, and the command fails", async () => {
    const { code, stdout } = await check(`${HEAD}\nP1,THB,20,-5.5\n`);
    expect(code).toBe(1);
    expect(stdout).toContain("NOT IN THE INVOICE: P1 with turnover 10.00 USD and ggr 10.00 USD");
  });

  test("may name a product that had no bet, if it charges nothing for it", async () => {
    expect((await check(`${WHOLE}EMPTY,THB,0,0\n`)).code).toBe(0);
    expect((await check(`${WHOLE}EMPTY,THB,0.01,0\n`)).code).toBe(1);
  });

  test("cannot be checked for a product whose bets are not pulled, and says so instead of showing 0", async () => {
    const { code, stdout } = await check(`${WHOLE}WALLET,THB,5,1\n`, "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout).lines[2]).toMatchObject({
      turnover: { invoice: "5", closed: null, difference: null, corrections: null, left: null },
      unknown: 'The bets of WALLET are not pulled (walletMode "transfer").',
    });
  });

  test("of a month without a closed day has nothing to be compared with", async () => {
    writeFileSync(FILE, WHOLE);
    const settings = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
    const { code, stdout } = await callRecon(
      ["invoice", "check", FILE, "--month", "2026-10", "--json"],
      settings,
    );
    expect(code).toBe(1);
    const { lines, open } = JSON.parse(stdout);
    expect(lines[0]).toMatchObject({ unknown: "No day of 2026-10 is closed.", ggr: { closed: null } });
    expect(open).toHaveLength(31);
  });
});

describe("a fee", () => {
  const feeOf = async (rate: string, fee: string, ggr = "-5.50") => {
    const text = `${HEAD},rate,fee\nP1,THB,20,${ggr},${rate},${fee}\nP1,USD,10,10,,\n`;
    const { code, stdout } = await check(text, "--json");
    return { code, fee: JSON.parse(stdout).lines[0].fee };
  };

  test("must be the rate times the invoice's ggr, rounded half up to the digits of the fee", async () => {
    // 0.123 × −5.5 is −0.6765.
    expect(await feeOf("0.123", "-0.6765")).toMatchObject({
      code: 0,
      fee: { expected: "-0.6765", left: "0" },
    });
    expect(await feeOf("0.123", "-0.68")).toMatchObject({ code: 0, fee: { expected: "-0.68", left: "0" } });
    expect(await feeOf("12.3%", "-0.7")).toMatchObject({ code: 0, fee: { rate: "0.123", left: "0" } });
    expect(await feeOf("0.123", "-0.67")).toMatchObject({
      code: 1,
      fee: { expected: "-0.68", left: "0.01" },
    });
  });

  test("without a rate cannot be checked, which is said and is no difference", async () => {
    expect(await feeOf("", "-0.68")).toEqual({
      code: 0,
      fee: { rate: null, invoice: "-0.68", expected: null, left: null },
    });
    const { stdout } = await check(`${HEAD},fee\nP1,THB,20,-5.5,1\nP1,USD,10,10,\n`);
    expect(stdout).toContain("line 2: the fee is not checked, because the invoice has no rate for it.");
  });
});

describe("a file", () => {
  test.each([
    ["semicolons and Excel's hint", `sep=;\n${WHOLE.replaceAll(",", ";")}`],
    ["tabs and a byte order mark", `\uFEFF${WHOLE.replaceAll(",", "\t")}`],
    ["UTF-16", Buffer.from(`\uFEFF${WHOLE}`, "utf16le")],
    ["gzip", gzipSync(WHOLE)],
    [
      "capital letters, quotes, carriage returns and empty lines",
      WHOLE.replace("product", '"PRODUCT"').replaceAll("\n", "\r\n,,,\r\n"),
    ],
    ["further columns", WHOLE.replaceAll("\n", ",note\n")],
  ])("with %s is read", async (_what, file) => {
    expect(await check(file)).toMatchObject({ code: 0 });
  });

  test("with a column that is not read says so", async () => {
    expect((await check(WHOLE.replaceAll("\n", ",note\n"))).stdout).toContain(
      "Columns that were not read: note",
    );
  });

  test.each([
    ["", "the file is empty: its first line must name the columns, product,currency,turnover,ggr,rate,fee"],
    [`${HEAD}\n`, "the file has a header and no line"],
    ["product,currency,ggr\nP1,THB,1\n", "line 1: the column turnover is missing"],
    [`${HEAD},ggr\nP1,THB,1,2,3\n`, "line 1: the column ggr is there twice"],
    [
      `${HEAD}\nP1,THB,20,1\nNOPE,THB,1,1\n`,
      'line 3: product "NOPE" is not in the settings, and 2026-11 has no bet of it',
    ],
    [`${HEAD}\n,THB,20,1\n`, "line 2: product is empty"],
    [`${HEAD}\nP1,baht,20,1\n`, 'line 2: currency must be a code such as THB, but is "baht"'],
    [
      `${HEAD}\nP1,THB,"1,234.50",1\n`,
      'line 2: turnover must be a decimal number such as 1234.50, but is "1,234.50"',
    ],
    [`${HEAD}\nP1,THB,1,1.2E+09\n`, 'line 2: ggr must be a decimal number such as 1234.50, but is "1.2E+09"'],
    [`${HEAD}\nP1,THB,1,\n`, 'line 2: ggr must be a decimal number such as 1234.50, but is ""'],
    [
      `${HEAD},rate\nP1,THB,1,1,12\n`,
      'line 2: rate must be a share from 0 to 1 such as 0.12, or a percentage such as 12%, but is "12"',
    ],
    [`${HEAD},fee\nP1,THB,1,1,free\n`, 'line 2: fee must be a decimal number such as 1234.50, but is "free"'],
    [`${HEAD}\nP1,THB,1,1\nP1,THB,1,1\n`, 'line 3: product "P1" with currency "THB" is in line 2 already'],
    [`${HEAD}\nP1,THB,1\n`, "line 2: the row has 3 fields, but the header has 4"],
    [`${HEAD}\n${"x".repeat(1024 * 1024)}\n`, "the file is larger than 1 MB"],
    [gzipSync("x".repeat(2 * 1024 * 1024)), "the file is larger than 1 MB"],
    ["PK\x03\x04", "the file is a ZIP archive or an Excel workbook: unpack it, or export it as CSV in UTF-8"],
  ])("that is wrong is refused with line, field and value (%#)", async (file, message) => {
    expect(await check(file)).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`recon: ${message}`),
    });
  });

  test("that is not there, and a month that is none, are named", async () => {
    const settings = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
    const gone = await callRecon(
      ["invoice", "check", join(folder, "gone.csv"), "--month", "2026-11"],
      settings,
    );
    expect(gone).toMatchObject({ code: 2, stderr: expect.stringContaining("gone.csv cannot be read") });
    const none = await callRecon(["invoice", "check", FILE, "--month", "2026-13"], settings);
    expect(none.stderr).toBe('recon: month must be a month such as 2026-11, but is "2026-13"\n');
  });
});

describe("POST /api/report/invoice", () => {
  async function post(body: string, query = "month=2026-11", type = "text/csv") {
    const own = { ...context(), config: parseConfig(CONFIG) };
    const settings = { host: "127.0.0.1", port: 0, tokens: [...TOKENS] };
    const server = await startOpsServer(own, settings, async () => {});
    const headers = { authorization: `Bearer ${READ_TOKEN}`, "content-type": type };
    try {
      const answer = await fetch(`${server.url}/api/report/invoice?${query}`, {
        method: "POST",
        headers,
        body,
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    } finally {
      await server.close();
    }
  }

  test("gives what the command prints, needs only the right to read, and stores nothing", async () => {
    const { status, json } = await post(WHOLE);
    expect(status).toBe(200);
    const { stdout } = await check(WHOLE, "--json");
    // The reasons of open days depend on the time.
    expect({ ...json, open: [] }).toEqual({ ...JSON.parse(stdout), open: [] });
    expect(json["open"]).toHaveLength(29);
    expect(await sql`select from audit_log`).toEqual([]);
  });

  test("refuses wrong input with line, field and value", async () => {
    const detail = 'line 2: turnover must be a decimal number such as 1234.50, but is "x"';
    expect(await post(`${HEAD}\nP1,THB,x,1\n`)).toMatchObject({ status: 400, json: { detail } });
    expect(await post(WHOLE, "")).toMatchObject({ status: 400, json: { detail: "month is missing" } });
    expect(await post("{}", "month=2026-11", "application/json")).toMatchObject({
      status: 415,
      json: {
        detail: expect.stringContaining('the content type is "application/json", but must be text/csv'),
      },
    });
    expect(await post("x".repeat(1024 * 1024 + 1))).toMatchObject({
      status: 413,
      json: { detail: "the body is larger than 1 MB" },
    });
  });
});

test("an amount of the invoice is never a float", async () => {
  const huge = "123456789012345678901234567890.12";
  const { stdout } = await check(`${HEAD}\nP1,THB,${huge},0\nP1,USD,10,10\n`, "--json");
  expect(JSON.parse(stdout).lines[0].turnover.left).toBe(amount(huge).minus("20").toFixed());
});
