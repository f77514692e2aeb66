/** The three programs that run for long, when the lines of their log cannot be written. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { COMPILED } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { startWalletTarget } from "../tap/wallet-target.ts";
import { PROGRAM } from "./run-recon.ts";

const { url } = useDatabase();
/** The tap's target answers it with success. */
const BODY = JSON.stringify({ id: "one" });
const REFUSED = "a callback was refused";

let targetUrl = "";
beforeAll(async () => {
  const target = await startWalletTarget();
  targetUrl = target.url;
  return () => target.close();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "recon-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Program = "callbacks" | "tap" | "worker";
/** The last line of a start. A program answers before it is written. */
const BEGUN: Readonly<Record<Program, string>> = {
  callbacks: "the callbacks are served",
  tap: "the tap passes callbacks on",
  worker: "the worker runs",
};

/** Starts a program with these descriptors as its outputs, and waits until it answers. */
async function start(program: Program, outputs: { readonly log: number; readonly out?: number }) {
  const folder = newFolder();
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify({ products: [{ productId: "P1" }] }));
  const [callbackPort, opsPort] = [await ownPort(), await ownPort()];
  const tap = ["tap", "--target", targetUrl, "--journal", join(folder, "journal")];
  const child = spawn(process.execPath, [PROGRAM, ...(program === "tap" ? tap : [program])], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: COMPILED,
      DATABASE_URL: url,
      RECON_CONFIG: config,
      CALLBACK_PORT: String(callbackPort),
      OPS_PORT: String(opsPort),
      LOG_LEVEL: "info",
      ...(program === "callbacks"
        ? { CALLBACK_SIGNATURE_KEY: "a key that signs no callback of this test" }
        : {}),
      ...(program === "worker"
        ? {
            PROVIDER_BASE_URL: "http://127.0.0.1:1",
            PROVIDER_USERNAME: "agent",
            PROVIDER_PASSWORD: "unheard",
          }
        : {}),
    },
    stdio: ["ignore", outputs.out ?? "ignore", outputs.log],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const ask = async (port: number, path: string, options: RequestInit = {}) =>
    await (
      await fetch(`http://127.0.0.1:${port}${path}`, { ...options, signal: AbortSignal.timeout(20_000) })
    ).text();
  const post = (path: string, headers: Record<string, string> = {}) =>
    ask(callbackPort, path, {
      method: "POST",
      body: BODY,
      headers: { "content-type": "application/json", ...headers },
    });
  const started = {
    child,
    /** Sends a callback about which the program logs a line; the worker gets none. */
    logLines: async (count: number) => {
      for (let index = 0; index < count && program !== "worker"; index += 1) {
        const path = program === "tap" ? `/${index}${"other".repeat(40)}` : "/placeBets";
        expect(await post(path)).toContain(program === "tap" ? '"statusCode":0' : '"statusCode":30002');
      }
    },
    /** Sends what the program must answer, and does not log. */
    work: async () => {
      if (program === "callbacks") return await ask(callbackPort, "/placeBets");
      if (program === "worker") return await ask(opsPort, "/healthz");
      return (await post("/placeBets")) + (await ask(opsPort, "/healthz"));
    },
    dropped: async () =>
      Number(
        /^recon_log_lines_dropped_total (\d+)$/m.exec(await ask(opsPort, "/metrics"))?.[1] ?? Number.NaN,
      ),
    end: async () => {
      child.kill("SIGTERM");
      await eventually("it has ended", () => child.exitCode !== null || child.signalCode !== null);
      return child.exitCode;
    },
  };
  await eventually(`${program} answers`, () => {
    if (child.exitCode !== null) throw new Error(`it has ended with ${child.exitCode}`);
    return started.work();
  });
  return started;
}

function openFull(): number {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  return full;
}

/** A pipe by name, whose reader is the test. */
function openPipe() {
  const path = join(newFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  let reader: number | null = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const leave = () => {
    if (reader !== null) closeSync(reader);
    reader = null;
  };
  onTestFinished(() => {
    leave();
    closeSync(writer);
  });
  return {
    writer,
    leave,
    /** Fills it to its last byte, with lines that are not the program's. */
    fill: () => {
      try {
        for (;;) writeSync(writer, "x\n");
      } catch {
        // It is full.
      }
    },
    /** what has come since the last call */
    read: (): string => {
      reader ??= openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const chunk = Buffer.alloc(65_536);
      let text = "";
      try {
        for (let bytes = 1; bytes > 0; ) {
          bytes = readSync(reader, chunk);
          text += chunk.toString("utf8", 0, bytes);
        }
      } catch {
        // It is empty.
      }
      return text;
    },
  };
}

interface Line {
  readonly msg: string;
  readonly dropped?: number;
  readonly since?: string;
}

function linesOf(text: string): Line[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line));
}

describe.each<Program>(["callbacks", "tap", "worker"])(
  "recon %s works, and ends when it should",
  (program) => {
    test("with a full disk under its log from the start on; it counts the lines that it drops", async () => {
      const { logLines, work, dropped, end } = await start(program, { log: openFull() });
      await logLines(5);
      expect(await work()).not.toBe("");
      if (program !== "callbacks") expect(await dropped()).toBeGreaterThan(0);
      expect(await end()).toBe(0);
    });

    test("with a log that nobody reads", async () => {
      const pipe = openPipe();
      pipe.fill();
      const { logLines, work, end } = await start(program, { log: pipe.writer });
      await logLines(5);
      expect(await work()).not.toBe("");
      expect(await end()).toBe(0);
    });

    test("with a log whose reader goes away; it says what was lost when a reader comes back", async () => {
      const pipe = openPipe();
      const { logLines, work, dropped, end } = await start(program, { log: pipe.writer });
      let before = "";
      await eventually("it has begun", () => {
        before += pipe.read();
        return before.includes(BEGUN[program]);
      });
      pipe.leave();
      await logLines(5);
      expect(await work()).not.toBe("");
      // The worker logs by itself that its provider cannot be reached.
      if (program === "worker") await eventually("a line is lost", async () => (await dropped()) > 0);
      let text = "";
      await eventually("it says so", () => {
        text += pipe.read();
        return text.includes('"dropped":');
      });
      expect(linesOf(text).find(({ dropped }) => dropped !== undefined)).toMatchObject({
        dropped: program === "worker" ? expect.any(Number) : 5,
        msg: "lines of the log were dropped, because standard error could not be written to (EPIPE)",
      });
      expect(await end()).toBe(0);
      text += pipe.read();
      const title = program === "worker" ? "the worker" : `recon ${program}`;
      expect(linesOf(text).some(({ msg }) => msg === `${title} ends`)).toBe(true);
    });
  },
);

/** Below this size a file takes bytes; a limit of a process's files is to it what a full disk is. */
const ROOM = 8_192;

test("when room comes back, recon callbacks says how many lines were lost and since when, and logs again", async () => {
  const path = join(newFolder(), "log");
  const log = openSync(path, "a");
  onTestFinished(() => closeSync(log));
  const { child, logLines, work, end } = await start("callbacks", { log });
  const setLimit = (bytes: string) => execFileSync("prlimit", [`--pid=${child.pid}`, `--fsize=${bytes}:`]);
  setLimit(String(ROOM));
  const sent = 100;
  await logLines(sent);
  expect(await work()).not.toBe("");
  await eventually("the file is full", () => statSync(path).size === ROOM);
  setLimit("unlimited");
  await eventually("it says so", () => readFileSync(path, "utf8").includes('"dropped":'));
  await logLines(1);
  expect(await end()).toBe(0);

  const lines = linesOf(readFileSync(path, "utf8"));
  const gap = lines.findIndex(({ dropped }) => dropped !== undefined);
  const written = lines.slice(0, gap).filter(({ msg }) => msg === REFUSED).length;
  expect(lines[gap]).toMatchObject({
    level: 40,
    // The line that the full disk cut off is among them.
    dropped: sent - written,
    since: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: "lines of the log were dropped, because standard error could not be written to (EFBIG)",
  });
  expect(lines.slice(gap + 1).map(({ msg }) => msg)).toEqual([REFUSED, "recon callbacks ends"]);
});

test("what a slow reader has not taken waits to a limit, in its order; nothing is lost without being counted", async () => {
  const pipe = openPipe();
  const { logLines, end } = await start("callbacks", { log: pipe.writer });
  const sent = 2_500;
  await logLines(sent);
  let text = "";
  await eventually("it says so", () => {
    text += pipe.read();
    return text.includes('"dropped":');
  });
  expect(await end()).toBe(0);
  text += pipe.read();
  const all = linesOf(text);
  const lines = all.slice(all.findIndex(({ msg }) => msg === REFUSED));
  const gap = lines.findIndex(({ dropped }) => dropped !== undefined);
  // A pipe has 64 KiB, and 256 KiB may wait.
  expect(Buffer.byteLength(text)).toBeGreaterThan(300_000);
  expect(lines.slice(0, gap).every(({ msg }) => msg === REFUSED)).toBe(true);
  expect(gap + (lines[gap]?.dropped ?? 0)).toBe(sent);
  expect(lines.at(-1)?.msg).toBe("recon callbacks ends");
});

test("a program whose standard output cannot be written says so, and works", async () => {
  const pipe = openPipe();
  const { work, end } = await start("tap", { log: pipe.writer, out: openFull() });
  expect(await work()).not.toBe("");
  expect(await end()).toBe(1);
  expect(pipe.read()).toContain("recon: standard output cannot be written to (ENOSPC)");
});

test("a JSON document that a disk takes only in part is no success", async () => {
  const path = join(newFolder(), "document");
  const script = ['ulimit -f 1; exec "$0" "$@" > "$OUT"', process.execPath, PROGRAM];
  const child = spawn("bash", ["-c", ...script, "--help"], {
    env: { PATH: process.env["PATH"], OUT: path },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, "close");
  expect({ code, said }).toEqual({ code: 1, said: "recon: standard output cannot be written to (EFBIG)\n" });
  expect(statSync(path).size).toBe(1_024);
});
