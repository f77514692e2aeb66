import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Command } from "commander";
import { afterEach, describe, expect, it } from "vitest";
import { addSandboxCommand } from "../../../src/cli/commands/sandbox.ts";
import { ownPort } from "../../support/own-port.ts";
import { ask, askPage, CREDENTIALS, rangeOf, readPages } from "../agent.ts";
import { HOUR, START } from "../plans.ts";

const RECON = join(import.meta.dirname, "../../../src/cli/main.ts");
/** A busy hour, in which no fault of the example hangs. */
const BUSY = START + 11 * HOUR;
const PLAYED = ["--from", "2026-11-20T14:00:00Z", "--to", "2026-11-20T15:00:00Z"];
const AGENT = ["--username", CREDENTIALS.username, "--password", CREDENTIALS.password];
const QUERY = rangeOf("TABLE", { from: BUSY, to: BUSY + HOUR });
const LINES = 3;

interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  readonly printed: readonly string[];
}

const started: ChildProcess[] = [];

/** Starts `recon sandbox` as a process of its own, and waits until it listens. */
async function startProcess(...flags: string[]): Promise<Running> {
  const child = spawn(process.execPath, [RECON, "sandbox", ...AGENT, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (printed.push(line) === LINES) break;
  }
  const [, url] = /PROVIDER_BASE_URL=(\S+)/.exec(printed.join("\n")) ?? [];
  if (url === undefined) throw new Error(`it printed no address: ${printed.join("\n")}`);
  return { process: child, url, printed };
}

async function kill({ process: child }: Running): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** The error of `recon sandbox` for flags with which it does not start. */
async function refusalOf(...flags: string[]): Promise<unknown> {
  const program = new Command().exitOverride();
  addSandboxCommand(program);
  return await program.parseAsync(["sandbox", ...flags], { from: "user" }).catch((error: unknown) => error);
}

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

describe("recon sandbox", () => {
  it("continues after a kill in the middle of a fixed period as if nothing had happened", async () => {
    const flags = [...PLAYED, "--seed", "7", "--faults", "none"];
    const port = String(await ownPort());
    const first = await startProcess(...flags, "--port", port);
    const whole = await readPages(first.url, QUERY);
    const { data } = await askPage(first.url, QUERY);
    await kill(first);
    const second = await startProcess(...flags, "--port", port);
    expect(second.url).toBe(first.url);
    const rest = await readPages(second.url, { ...QUERY, nextId: data.nextId ?? "" });
    const txnsOf = (pages: typeof whole) => pages.flatMap(({ txns }) => txns);
    expect([...data.txns, ...txnsOf(rest)]).toEqual(txnsOf(whole));
    expect(whole.length).toBeGreaterThan(1);
  });

  it("says where it listens and what it plays, reads its faults from a file, and ends when asked", async () => {
    const file = join(import.meta.dirname, "../../../src/sandbox/example-faults.json");
    const sandbox = await startProcess(...PLAYED, "--seed", "7", "--port", "0", "--faults", file);
    const { process: child, printed, url } = sandbox;
    expect(printed).toEqual([
      "The sandbox listens; its world has the seed 7, played from 2026-11-20 14:00:00Z to 2026-11-20 15:00:00Z. For a worker:",
      `  PROVIDER_BASE_URL=${url} PROVIDER_USERNAME=agent PROVIDER_PASSWORD=s3cret:with colon`,
      "  products TABLE, SLOT, SPORT, WALLET",
    ]);
    const came = new Set<number | string>();
    for (let asked = 0; asked < 200; asked++) {
      came.add(
        await ask(url, QUERY).then(
          ({ status }) => status,
          () => "dropped",
        ),
      );
    }
    expect(came).toEqual(new Set([200, "dropped"]));
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it.each([
    [["--from", "2026-11-20T03:00:00Z"], "give both --from and --to, or neither"],
    [PLAYED, "--from and --to need --seed: without a seed, each start plays another world"],
    [
      ["--from", "2026-11-20T03:00:00Z", "--to", "2026-11-20T03:00:00Z"],
      "--from 2026-11-20T03:00:00Z is not before --to 2026-11-20T03:00:00Z",
    ],
    [
      ["--from", "yesterday", "--to", "today"],
      '--from must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "yesterday"',
    ],
    [["--port", "99999"], '--port "99999" is not a whole number from 0 to 65535'],
    [["--seed", "-1"], '--seed "-1" is not a whole number from 0 to 4294967295'],
    [["--username", "a:b"], '--username "a:b" must not be empty and must not contain a colon'],
  ])("does not start with %j", async (flags, message) => {
    expect(await refusalOf(...flags)).toMatchObject({ code: "usage", message });
  });

  it("does not start with a wrong file of faults", async () => {
    expect(await refusalOf("--faults", "none.json")).toMatchObject({
      code: "settings-invalid",
      message: expect.stringContaining("none.json"),
    });
  });
});
