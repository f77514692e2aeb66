/**
 * Builds the image with buildah, and runs it without a container, which the kernel may not allow: in its own root folder, as its
 * own user, without rights, and with nothing to write to but /tmp.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../docs/pages.ts";

const run = promisify(execFile);
const IMAGE = "localhost/wallet-recon-test";
/** The base; "registry": what the Dockerfile names. */
const BASE = process.env["IMAGE_BASE"] ?? "localhost/wallet-recon-base";

/** What the image says of itself. */
interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface Image {
  readonly config: ImageConfig;
  /** in bytes, of everything but the base */
  readonly ownSize: number;
  /** Starts a program in the image. @param config a folder that the program sees as /config */
  start(args: readonly string[], environment: Readonly<Record<string, string>>, config: string): ChildProcess;
  remove(): Promise<void>;
}

async function buildah(...args: string[]): Promise<string> {
  const { stdout } = await run("buildah", args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** @returns why the image cannot be built here; null: it can */
export async function whyNotBuilt(): Promise<string | null> {
  if (process.getuid?.() !== 0) return "buildah needs root here";
  try {
    await buildah("--version");
  } catch {
    return "buildah is not installed (Debian: apt-get install buildah)";
  }
  if (BASE === "registry") return null;
  const found = await buildah("inspect", "--type", "image", BASE).catch(() => null);
  return found === null ? `there is no base image ${BASE}: test/image/make-base.sh makes it` : null;
}

export async function buildImage(): Promise<Image> {
  const cache = join(homedir(), ".npm");
  mkdirSync(cache, { recursive: true });
  const local = ["--pull-never", "--build-arg", `NODE_IMAGE=${BASE}`, "--volume", `${cache}:/npm-cache`];
  const how = ["bud", "--isolation", "chroot", "--format", "docker", "--layers", "--quiet"];
  await buildah(...how, ...(BASE === "registry" ? [] : local), "--tag", IMAGE, ".");
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", IMAGE));
  const container = await buildah("from", "--pull-never", IMAGE);
  const root = await buildah("mount", container);
  return {
    config: Docker.config,
    ownSize: await sizeOf(join(root, "app")),
    start: (args, environment, config) => start(root, Docker.config, args, environment, config),
    remove: async () => {
      await buildah("rm", container);
    },
  };
}

async function sizeOf(folder: string): Promise<number> {
  const { stdout } = await run("du", ["--summarize", "--bytes", folder]);
  return Number.parseInt(stdout, 10);
}

/** $1: the root; $2: the folder for /config; then the program. The mounts end with the process. */
const IN_ROOT = `
set -e
root="$1"; config="$2"; shift 2
mkdir -p "$root/config"
mount --bind "$config" "$root/config"
mount --bind "$root" "$root"
mount --bind -o ro "$config" "$root/config"
mount -o remount,bind,ro "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot "$root" "$@"`;

function start(
  root: string,
  config: ImageConfig,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
): ChildProcess {
  const variables = [
    ...config.Env,
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
  ];
  const [uid = "", gid = ""] = config.User.split(":");
  const user = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  const rights = ["setpriv", ...user, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  const inside = ["env", "--ignore-environment", `--chdir=${config.WorkingDir}`, ...variables, ...args];
  const unshare = ["--mount", "--propagation", "private", "sh", "-c", IN_ROOT, "sh", root, folder];
  return spawn("unshare", [...unshare, ...rights, ...inside], { stdio: ["ignore", "pipe", "pipe"] });
}
