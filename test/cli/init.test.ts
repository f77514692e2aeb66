import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, expect, test } from "vitest";
import { callRecon } from "./call-recon.ts";
import { PROGRAM } from "./run-recon.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "recon-init-"));
afterAll(() => rmSync(folder, { recursive: true }));
const FILE = join(folder, "recon.config.json");
const SETTINGS = { RECON_CONFIG: FILE };
const init = (args: readonly string[] = [], environment: NodeJS.ProcessEnv = {}) =>
  callRecon(["init", ...args], { ...SETTINGS, ...environment });
const written = () => JSON.parse(readFileSync(FILE, "utf8"));
beforeEach(() => rmSync(FILE, { force: true }));

test("a first config file has the named products and zone, and a command says what is missing", async () => {
  const args = ["--product", "P1", "--product", "P2", "--zone", "Asia/Bangkok"];
  const { code, stdout, stderr } = await init(args, { DATABASE_URL: "postgres://a:b@127.0.0.1:1/c" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(written()).toEqual({
    products: [{ productId: "P1" }, { productId: "P2" }],
    closing: { zone: "Asia/Bangkok" },
  });
  const [first, ...rest] = stdout.trimEnd().split("\n");
  expect(first).toBe(`${FILE} is written.`);
  const named = rest.flatMap((line) => /^ {2}([A-Z_]+) is not set/.exec(line)?.[1] ?? []);
  expect(named).toEqual([
    "REDIS_URL",
    "PROVIDER_BASE_URL",
    "OPS_TOKENS",
    "PROVIDER_USERNAME",
    "PROVIDER_PASSWORD",
  ]);
});

test("without a terminal and products the file has a placeholder, which is named as missing", async () => {
  const { code, stdout } = await init(["--json"]);
  expect(code).toBe(0);
  const { file, config, missing, provider } = JSON.parse(stdout);
  expect({ file, config, provider }).toEqual({ file: FILE, config: written(), provider: null });
  expect(config.products).toEqual([{ productId: "REPLACE-WITH-YOUR-PRODUCT-ID" }]);
  expect(missing[0]).toMatch(/replace REPLACE-WITH-YOUR-PRODUCT-ID by the ids of your products/);
});

test("in a terminal it asks for products and zone", async () => {
  const { stdout } = await run(
    "/bin/sh",
    ["-c", `printf 'P1, P2\\nAsia/Bangkok\\n' | script -qec "$COMMAND" /dev/null; echo "exit $?"`],
    { env: { PATH: process.env["PATH"], ...SETTINGS, COMMAND: `${process.execPath} ${PROGRAM} init` } },
  );
  expect(stdout).toMatch(/Ids of your products, .*exit 0\n$/s);
  expect(written()).toEqual({
    products: [{ productId: "P1" }, { productId: "P2" }],
    closing: { zone: "Asia/Bangkok" },
  });
});

test("the provider is asked whether it knows the product, if its address and credentials are set", async () => {
  const provider = {
    PROVIDER_BASE_URL: "http://127.0.0.1:1",
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "hunter2",
  };
  const { code, stdout } = await init(["--product", "P1"], provider);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^The provider: .*provider-unreachable\)\n {2}-> correct PROVIDER_BASE_URL/m);
  expect(stdout).not.toContain("hunter2");
});

test("an existing file is never overwritten", async () => {
  writeFileSync(FILE, "mine");
  expect(await init(["--product", "P1"])).toEqual({
    code: 1,
    stdout: "",
    stderr: `recon: ${FILE} exists already and was not changed; "recon doctor" checks it\n`,
  });
  expect(readFileSync(FILE, "utf8")).toBe("mine");
});

test.each([
  [["--zone", "+07:00"], /^recon: there is no zone "\+07:00"; a zone is /],
  [["--product", ""], /^recon: .*products\[0\]\.productId: /],
  [["P1"], /^recon: too many arguments/],
])("%j is refused in one line, and nothing is written", async (args, line) => {
  const { code, stdout, stderr } = await init(args);
  expect({ code, stdout, stderr: stderr.split("\n")[0] }).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(line),
  });
  expect(() => written()).toThrow(/ENOENT/);
});
