import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleSettle, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { callRecon } from "./call-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-evidence-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "P1" }, { productId: "P2" }] };
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const recon = (args: string) => callRecon(args.split(" "), SETTINGS);
const says = (code: number, line: RegExp) => ({
  code,
  stdout: "",
  stderr: expect.stringMatching(new RegExp(`^recon: ${line.source}`)),
});

/** Incident 1: mismatches 1 and 2 of P1. Incident 2: mismatch 3 of P2. */
beforeEach(async () => {
  await emptyTables(sql);
  await appendEntries(sql, [exampleEntry(), exampleSettle()]);
  await openMismatches(sql, parseConfig(CONFIG), NOON, [
    {},
    { currency: "USD", amountAtRisk: amount("0.5"), username: "\u001b[31mbo" },
    { productId: "P2", kind: "stake-differs" },
  ]);
});

describe("recon incidents", () => {
  test("lists the open ones with their money, the newest first, and says if there are more", async () => {
    const { code, stdout } = await recon("incidents list");
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ID +KIND +OWNER +PRODUCT +SINCE +NEWEST +OPEN +OF +AT RISK +OVER$/);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^2 +stake-differs +- +P2 .* 1 +1 +4\.50 THB +-$/),
      expect.stringMatching(/^1 +payout-differs +- +P1 .* 2 +2 +4\.50 THB and 0\.50 USD +-$/),
    ]);
    expect((await recon("incidents list --limit 1")).stdout).toMatch(/There are more: --after 2\n$/);
    const second = JSON.parse((await recon("incidents list --limit 1 --after 2 --json")).stdout);
    expect(second).toMatchObject({ incidents: [{ id: "1", open: 2 }], next: null });
    expect((await recon("incidents list --state over")).stdout).toBe("No incidents.\n");
  });

  test("shows one with its sums, its mismatches, who was notified, and the comments", async () => {
    await sql`insert into comments (about, about_id, at, by, note) values ('incident', 1, now(), 'bo', 'asked')`;
    const { code, stdout } = await recon("incidents show 1");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Incident 1: payout-differs in P1, 2 of 2 open, 4\.50 THB and 0\.50 USD at risk\n/,
    );
    expect(stdout).toMatch(/^open +1 +4\.50 THB$/m);
    expect(stdout).toMatch(/^1 +open +anna +4\.50 THB +2026-11-20T12:00:00\.000Z +paid out/m);
    expect(stdout).toMatch(/^\S+ +incident-opened +- +0 +- +/m);
    expect(stdout).toMatch(/^\S+ +bo +asked$/m);
    expect(stdout).not.toContain("\u001b");
    const json = JSON.parse((await recon("incidents show 1 --json")).stdout);
    expect(json).toMatchObject({ id: "1", total: 2, mismatches: [{ id: "1" }, { id: "2" }], next: null });
  });

  test("shows a hundred mismatches of a large one, and how to get the others", async () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ productId: "P2", betId: `many-${index}` }));
    await openMismatches(sql, parseConfig(CONFIG), NOON + 1, many);
    const { stdout } = await recon("incidents show 3");
    const more = /^There are more: recon (.*)$/m.exec(stdout)?.[1] ?? "";
    const rest = JSON.parse((await recon(`${more} --json`)).stdout);
    expect(rest.mismatches).toMatchObject([{ betId: "many-100" }]);
  });

  test.each([
    ["show 77", 1, /there is no incident "77"\n$/],
    ["show x", 1, /there is no incident "x"\n$/],
    ["list --state lost", 2, /there is no state "lost"; it is one of open, over, all\n$/],
    ["list --product P9", 2, /there is no product "P9"; it is one of P1, P2\n$/],
  ])("%s is one clear line", async (args, code, line) => {
    expect(await recon(`incidents ${args}`)).toEqual(says(code, line));
  });
});

describe("recon evidence", () => {
  const at = (name: string) => join(folder, name);

  test("writes some mismatches as HTML, JSON or CSV, by the ending of the file", async () => {
    expect(await recon(`evidence 1 3 --out ${at("two.html")}`)).toEqual({
      code: 0,
      stdout: `Wrote the evidence of 2 mismatches to ${at("two.html")}.\n`,
      stderr: "",
    });
    expect(readFileSync(at("two.html"), "utf8")).toMatch(/^<!doctype html>[\s\S]*id="m1"[\s\S]*id="m3"/);
    const { stdout } = await recon(`evidence 1 --out ${at("one.JSON")} --json`);
    const text = readFileSync(at("one.JSON"), "utf8");
    expect(JSON.parse(stdout)).toEqual({
      file: at("one.JSON"),
      format: "json",
      mismatches: 1,
      bytes: Buffer.byteLength(text),
    });
    expect(JSON.parse(text).mismatches[0].entries).toMatchObject([
      { callback: "placeBets", body: "never-kept" },
      { callback: "settleBets" },
    ]);
    expect(JSON.parse(text).mismatches[0].missing).toEqual([
      "The request bodies of 2 of 2 callbacks were never kept: another program wrote these callbacks to the ledger.",
    ]);
    await recon(`evidence --incident 1 --out ${at("incident.csv")}`);
    expect(readFileSync(at("incident.csv"), "utf8")).toMatch(/^mismatch,kind,.*\n1,payout-differs,/);
  });

  test("never overwrites a file", async () => {
    writeFileSync(at("sent.html"), "sent to the provider");
    expect(await recon(`evidence 1 --out ${at("sent.html")}`)).toEqual(
      says(1, /".*sent\.html" exists already: choose another name\n$/),
    );
    expect(readFileSync(at("sent.html"), "utf8")).toBe("sent to the provider");
  });

  test.each([
    ["1 --out FOLDER/x.pdf", 2, /--out must end with \.html, \.json or \.csv, but is ".*x\.pdf"\n$/],
    ["1 --out FOLDER/none/x.csv", 2, /".*x\.csv" cannot be written: ENOENT/],
    ["1 77 --out FOLDER/x.html", 1, /there is no mismatch "77"\n$/],
    ["x --out FOLDER/x.html", 1, /there is no mismatch "x"\n$/],
    ["--incident 77 --out FOLDER/x.html", 1, /there is no incident "77"\n$/],
    ["--incident 1 --part 2 --out FOLDER/x.html", 2, /incident 1 has no part 2: the last is part 1/],
    ["--incident 1 --part x --out FOLDER/x.html", 2, /--part "x" is not a whole number from 1 up\n$/],
    ["1 --part 1 --out FOLDER/x.html", 2, /--part needs --incident\n$/],
    ["--out FOLDER/x.html", 2, /give ids, or --incident\n$/],
    ["1 --incident 1 --out FOLDER/x.html", 2, /give either ids or --incident, not both\n$/],
    ["1", 2, /required option '--out <file>' not specified/],
  ])("%s is one clear line, and writes nothing", async (args, code, line) => {
    expect(await recon(`evidence ${args.replace("FOLDER", folder)}`)).toEqual(says(code, line));
    expect(existsSync(at("x.html"))).toBe(false);
  });
});
