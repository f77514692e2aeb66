/** Finds a Chromium for tests: one that is installed, else the one inside the npm package `@sparticuz/chromium` (Linux x64). */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface ChromiumProgram {
  readonly executablePath: string;
  /** variables that the program needs besides those of this process */
  readonly environment: Readonly<Record<string, string>>;
}

const MODULES = join(import.meta.dirname, "../../node_modules");
const PACKAGE = join(MODULES, "@sparticuz/chromium");
const CACHE = join(MODULES, ".cache/chromium");

/** The builds without a desktop come first: they draw the same pages for less than half the work. */
const LINUX = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome",
  "/opt/google/chrome/chrome",
  "/snap/bin/chromium",
];
const MACOS = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  join(homedir(), "Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
];
/** Playwright unpacks a browser into `<its cache>/chromium_headless_shell-<revision>/<platform>/<program>`. */
const PLAYWRIGHT_PROGRAMS = [
  "chrome-headless-shell-linux64/chrome-headless-shell",
  "chrome-linux/headless_shell",
  "chrome-linux64/chrome",
  "chrome-linux/chrome",
  "chrome-headless-shell-mac-arm64/chrome-headless-shell",
  "chrome-headless-shell-mac-x64/chrome-headless-shell",
  "chrome-mac/headless_shell",
  "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
];

/**
 * `CHROMIUM`, else the usual places of Chrome, Chromium and Playwright, else the package, which is unpacked once.
 * @throws Error that says what to do, if `CHROMIUM` names no file or this system has no Chromium
 */
export async function findChromium(): Promise<ChromiumProgram> {
  const named = process.env["CHROMIUM"];
  if (named) {
    if (!existsSync(named))
      throw new Error(`CHROMIUM=${named}: there is no such file. Name a Chromium, or unset it`);
    return { executablePath: named, environment: {} };
  }
  const usual = process.platform === "darwin" ? MACOS : LINUX;
  const installed = [...usual, ...(await playwrightPlaces())].find((path) => existsSync(path));
  if (installed !== undefined) return { executablePath: installed, environment: {} };
  if (process.platform === "linux" && process.arch === "x64") return await unpackedChromium();
  throw new Error(
    "The dashboard's tests need Chrome or Chromium, and none was found. Install one, or set CHROMIUM to its program",
  );
}

async function playwrightPlaces(): Promise<readonly string[]> {
  const usual = process.platform === "darwin" ? "Library/Caches/ms-playwright" : ".cache/ms-playwright";
  const folder = process.env["PLAYWRIGHT_BROWSERS_PATH"] || join(homedir(), usual);
  const builds = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith("chromium"));
  return builds.flatMap((build) => PLAYWRIGHT_PROGRAMS.map((program) => join(folder, build, program)));
}

/** The package's program with its own libraries and fonts, so it starts on a machine that has neither. */
async function unpackedChromium(): Promise<ChromiumProgram> {
  const { version } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));
  const folder = join(CACHE, version);
  if (!existsSync(folder)) await unpack(folder);
  return {
    executablePath: join(folder, "chromium"),
    environment: {
      LD_LIBRARY_PATH: join(folder, "al2023/lib"),
      FONTCONFIG_FILE: join(folder, "fonts.conf"),
    },
  };
}

/**
 * The package unpacks only into the system's temporary folder, so a process of its own does it with another TMPDIR. The
 * rename at the end lets several runs unpack at once, and leaves no half of a folder.
 */
async function unpack(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, "unfinished-"));
  try {
    const script = `
      import { inflate } from "@sparticuz/chromium";
      const archives = ["chromium.br", "fonts.tar.br", "al2023.tar.br"];
      await Promise.all(archives.map((name) => inflate(${JSON.stringify(`${PACKAGE}/bin/`)} + name)));`;
    await run(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      env: { ...process.env, TMPDIR: work },
    });
    // The package's own fonts.conf names a fixed folder below /tmp, and without any font a page crashes.
    const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts/fonts")}</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`;
    await writeFile(join(work, "fonts.conf"), fonts);
    await rename(work, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
