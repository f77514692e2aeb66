import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRecon } from "../cli/run-recon.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./certificate.ts";
import { PLACEMENT, readJournal, SUCCESS } from "./tapped.ts";

/** @returns its port, and the name and body of each request that it received */
async function startHttpsTarget() {
  const taken: { name: string | false; path: string; body: string }[] = [];
  const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, async (asked, reply) => {
    const { servername = false } = asked.socket as { servername?: string | false };
    taken.push({ name: servername, path: asked.url ?? "", body: await text(asked) });
    reply.end(SUCCESS);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, taken };
}

/** A tap whose PostgreSQL is unavailable, so its journal stays. */
async function startTap(target: string, trusted: string | null) {
  const folder = mkdtempSync(join(tmpdir(), "recon-tap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const authority = join(folder, "authority.pem");
  if (trusted !== null) writeFileSync(authority, trusted);
  const port = await ownPort();
  const { said } = startRecon(["tap", "--target", target, "--journal", folder], {
    DATABASE_URL: `postgres://nobody@127.0.0.1:${await ownPort()}/none`,
    CALLBACK_PORT: String(port),
    OPS_PORT: "0",
    ...(trusted === null ? {} : { NODE_EXTRA_CA_CERTS: authority }),
  });
  await eventually("the tap is up", () => said().includes("callbacks pass from"));
  const send = () =>
    fetch(`http://127.0.0.1:${port}/placeBets`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: PLACEMENT,
    });
  return { send, said, folder };
}

describe("a target that speaks https", () => {
  test.each([
    ["localhost", "localhost"],
    ["127.0.0.1", false],
  ])("at %s gets callbacks, and its answers are recorded", async (host, name) => {
    const target = await startHttpsTarget();
    const { send, said, folder } = await startTap(`https://${host}:${target.port}/callbacks/`, CERTIFICATE);
    expect(await (await send()).text()).toBe(SUCCESS);
    expect(target.taken).toEqual([{ name, path: "/callbacks/placeBets", body: PLACEMENT }]);
    await eventually("it is recorded", async () => (await readJournal(folder)).length > 0);
    expect(await readJournal(folder)).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
    expect(said()).not.toContain("Warning");
  });

  test("with a certificate of an unknown authority is not reached: the caller gets 502, and the log says why and what to do", async () => {
    const target = await startHttpsTarget();
    const { send, said, folder } = await startTap(`https://localhost:${target.port}`, null);
    expect((await send()).status).toBe(502);
    expect(target.taken).toEqual([]);
    await eventually("the log says it", () => said().includes("the target cannot be reached"));
    expect(said()).toMatch(/its certificate is signed by an unknown authority .*NODE_EXTRA_CA_CERTS/);
    expect(await readJournal(folder)).toEqual([]);
  });
});
