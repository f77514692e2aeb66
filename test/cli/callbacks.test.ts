import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { exampleEnvelope, post } from "../callbacks/operator.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { callRecon } from "./call-recon.ts";
import { type Ended, startRecon } from "./run-recon.ts";

const { url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-callbacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, "recon.config.json");
writeFileSync(config, JSON.stringify({ products: [{ productId: "P1" }] }));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: config, CALLBACK_PORT: "0" };

const recon = (args: string[]) => callRecon(args, SETTINGS);
const reconAlone = (args: string[], changes: NodeJS.ProcessEnv = {}) =>
  startRecon(args, { ...SETTINGS, ...changes }).ended;
const wallet = (command: string, run: (args: string[]) => Promise<Ended> = recon) =>
  run(["wallet", ...command.split(" ")]);

describe("recon wallet", () => {
  test("credit creates the player, adds the amount, and counts a ref once", async () => {
    const credit = "credit --username anna --currency THB --amount";
    expect(JSON.parse((await wallet(`${credit} 10.50 --ref a-1 --json`, reconAlone)).stdout)).toEqual({
      wallet: { username: "anna", currency: "THB", balance: "10.5" },
      credited: true,
    });
    expect(await wallet(`${credit} 10.5 --ref a-1`)).toMatchObject({
      code: 0,
      stdout: '"a-1" was credited before: nothing changed, anna has 10.50 THB\n',
    });
    expect(await wallet(`${credit} -0.5 --ref a-2`)).toMatchObject({ stdout: "anna has 10.00 THB\n" });
    expect(await wallet(`${credit} 11 --ref a-1`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^recon: --ref "a-1" was used for another credit \(10.5 THB for "anna"\)/,
      ),
    });
    expect(await wallet(`${credit} -10.01 --ref a-3`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^recon: --amount -10.01 would leave "anna" with -0.01 THB/),
    });
    expect(JSON.parse((await wallet("show --username anna --json")).stdout)).toEqual({
      wallets: [{ username: "anna", currency: "THB", balance: "10" }],
    });
  });

  test.each([
    [
      "credit --username a --currency THB --amount ten --ref r",
      2,
      /--amount must be a decimal number, but is "ten"/,
    ],
    ["credit --username a --currency THB --amount 1", 2, /required option '--ref <ref>' not specified/],
    [
      "show --username nobody",
      1,
      /the player "nobody" has no wallet: a first "recon wallet credit" creates it/,
    ],
  ])("%s fails with one clear line", async (command, code, line) => {
    expect(await wallet(command)).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(line) });
  });
});

describe("recon callbacks", () => {
  test("says where it listens, answers, and ends at once when asked", async () => {
    await wallet("credit --username ben --currency THB --amount 5 --ref b-1");
    const { child, ended, said } = startRecon(["callbacks"], {
      ...SETTINGS,
      CALLBACK_BASE_PATH: "/api/callback",
    });
    const base = await eventually(
      "it listens",
      () => /(http:\/\/127\.0\.0\.1:\d+\/api\/callback)\/<callback>/.exec(said())?.[1],
    );
    const asked = { ...exampleEnvelope("ben"), timestampMillis: Date.now() };
    expect((await post(base, "checkBalance", asked)).json).toMatchObject({ balance: 5 });
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });

  test("does not start in production without a signature key or a list of addresses", async () => {
    const ended = await reconAlone(["callbacks"], { NODE_ENV: "production" });
    expect(ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("CALLBACK_SIGNATURE_KEY and CALLBACK_ALLOWED_IPS are not set"),
    });
  });

  test("does not start with a malformed address in the list, and names it", async () => {
    const list = "10.0.0.0/8,2001:db8::/32,10.0.0.0/33";
    const { code, stderr } = await reconAlone(["callbacks"], { CALLBACK_ALLOWED_IPS: list });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/CALLBACK_ALLOWED_IPS\[2\]: must be IP addresses or ranges/),
    });
  });
});
