import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { callbacksOf, iso, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { serveApi } from "../support/ops-api.ts";
import { callRecon } from "./call-recon.ts";

const world = useDiffWorld();
const CONFIG = { products: [{ productId: "P1" }] };
const folder = mkdtempSync(join(tmpdir(), "recon-find-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const find = (...args: string[]) =>
  callRecon(["find", ...args], {
    DATABASE_URL: world.url,
    RECON_CONFIG: join(folder, "recon.config.json"),
  });

/** bet-1 agrees, bet-2 differs and has mismatch 1, bet-3 has no callback yet. */
beforeEach(async () => {
  await world.ledgerBegins();
  const named = (number: number) => ({ username: "anna", roundId: `round-${number}` });
  const record = (number: number, payout: string) =>
    recordOf(payout, {
      ...named(number),
      ...{ betId: `bet-${number}`, id: `rec-${number}`, accountingDate: iso(-4), updatedDate: iso(-3) },
    });
  const called = (number: number, payout: string): CallbackEntry[] =>
    callbacksOf(payout, { ...named(number), txnId: `bet-${number}` });
  await world.receive(...called(1, "12.5"), ...called(2, "25.5"));
  await world.listed(record(1, "12.5"), record(2, "30.75"));
  await world.diffAt(20);
  await world.listed(record(3, "7"));
});

describe("recon find", () => {
  test.each([["bet-1"], ["rec-1"], ["anna", "round-1"]])(
    "%s %s shows both sides of a bet that agrees",
    async (...id) => {
      const { code, stdout } = await find(...id.filter((one) => one !== undefined));
      expect(code).toBe(0);
      expect(stdout).toMatch(/^The bet \S+-1: P1, player anna, round round-1$/m);
      expect(stdout).toMatch(/^Payout +12\.5 +12\.5$/m);
      expect(stdout).toContain(
        "Both sides agree about this bet.\nIt counts in the statement of 2026-11-20.\n",
      );
    },
  );

  test("of a bet that differs says how, and names its mismatch", async () => {
    const { stdout } = await find("bet-2");
    expect(stdout).toMatch(/^Payout +30\.75 +25\.5 +differs$/m);
    expect(stdout).toContain("The sides differ: paid out 30.75 THB at the provider, 25.50 THB in the ledger");
    expect(stdout).toMatch(/^ {2}mismatch \d+: payout-differs, open$/m);
  });

  test("of a bet that waits says that no mismatch is open, and why", async () => {
    expect((await find("bet-3")).stdout).toMatch(
      /The sides differ, and no mismatch is open: .*Either its graces are not over, or ops have decided it\.\n/,
    );
  });

  test("of a player counts what is not decided", async () => {
    expect((await find("anna")).stdout).toContain(
      "The player anna plays at P1; open or acknowledged mismatches: 1 with 5.25 THB at risk\n",
    );
  });

  test("of an unknown id says so, and ends with 1", async () => {
    expect(await find("bet-9")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("Nothing stored has this id."),
    });
  });

  test("refuses an empty id", async () => {
    expect(await find(" ")).toMatchObject({ code: 2, stderr: expect.stringMatching(/^recon: q is empty/) });
  });
});

test("GET /api/search answers the same as recon find --json", async () => {
  const context = { sql: world.sql, clock: world.clock, log: silentLog, config: parseConfig(CONFIG) };
  const ask = await serveApi(context);
  for (const [q, agrees] of [
    ["bet-1", true],
    ["bet-2", false],
    ["bet-3", false],
  ] as const) {
    const { json } = await ask("GET", `/api/search?q=${q}`);
    expect(json).toEqual(JSON.parse((await find(q, "--json")).stdout));
    expect(json.bets).toMatchObject([{ id: q, username: "anna", agrees }]);
  }
  expect(await ask("GET", "/api/search")).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining("q is empty") },
  });
});
