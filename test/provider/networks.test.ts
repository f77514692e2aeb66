/** The provider, the alerts and the heartbeat behind proxies and certificates of the operator's own. */

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { openProvider } from "../../src/provider/client.ts";
import { callRecon } from "../cli/call-recon.ts";
import { startRecon } from "../cli/run-recon.ts";
import { useAlertListener, WEBHOOK_SECRET } from "../support/alert-listener.ts";
import { makeCertificates } from "../support/certificates.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import {
  betItem,
  CREDENTIALS,
  page,
  pageBody,
  type Respond,
  useHttpProvider,
} from "../support/http-provider.ts";

const { url: databaseUrl } = useDatabase();
const provider = useHttpProvider();
const listener = useAlertListener();
const own = await makeCertificates({ type: "dns", value: "localhost" });
afterAll(() => rmSync(own.folder, { recursive: true }));

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A forward proxy. @returns its URL, and what it was asked for */
async function startForwardProxy(refuses = false) {
  const asked: string[] = [];
  const server = createServer(async ({ url = "", method, headers }, response) => {
    asked.push(`${method} ${new URL(url).host}`);
    const answer = await fetch(url, { headers: { authorization: headers.authorization ?? "" } }).catch(
      () => null,
    );
    response
      .writeHead(answer?.status ?? 200, { "content-type": "application/json" })
      .end(await answer?.text());
  });
  server.on("connect", ({ url = "" }, socket) => {
    asked.push(`CONNECT ${url}`);
    socket.on("error", () => {});
    if (refuses) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const upstream = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    return upstream.on("error", () => socket.destroy());
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, asked };
}

const tlsProvider = () =>
  listen(
    createTlsServer({ cert: readFileSync(own.cert), key: readFileSync(own.key) }, (_, response) => {
      page([])(response);
    }),
  );

const folder = mkdtempSync(join(tmpdir(), "recon-networks-"));
const CONFIG = join(folder, "recon.config.json");
writeFileSync(CONFIG, JSON.stringify({ products: [{ productId: "P1" }] }));
afterAll(() => rmSync(folder, { recursive: true }));

const SETTINGS = {
  DATABASE_URL: databaseUrl,
  RECON_CONFIG: CONFIG,
  PROVIDER_USERNAME: CREDENTIALS.username,
  PROVIDER_PASSWORD: CREDENTIALS.password,
};
const QUESTION =
  "provider betTransactionsV2 --product P1 --from 2026-11-20T10:00:00Z --to 2026-11-20T11:00:00Z";

/** In a process of its own: Node reads NODE_EXTRA_CA_CERTS once. */
async function ask(environment: NodeJS.ProcessEnv) {
  return await startRecon(QUESTION.split(" "), { ...SETTINGS, ...environment }).ended;
}

describe("the provider behind a proxy", () => {
  test("is asked through HTTP_PROXY, unless NO_PROXY names it", async () => {
    const { url, asked } = await startForwardProxy();
    const environment = { PROVIDER_BASE_URL: provider.url(), HTTP_PROXY: url };
    expect(await ask(environment)).toMatchObject({ code: 0, stderr: "" });
    expect(asked).toEqual([`GET ${new URL(provider.url()).host}`]);
    expect(provider.asked).toHaveLength(1);
    expect(await ask({ ...environment, NO_PROXY: "127.0.0.1" })).toMatchObject({ code: 0 });
    expect(asked).toHaveLength(1);
    expect(provider.asked).toHaveLength(2);
  });

  test("is asked through a tunnel of HTTPS_PROXY, with its certificate checked by NODE_EXTRA_CA_CERTS", async () => {
    const { url, asked } = await startForwardProxy();
    const port = await tlsProvider();
    const environment = { PROVIDER_BASE_URL: `https://localhost:${port}`, https_proxy: url };
    expect(await ask({ ...environment, NODE_EXTRA_CA_CERTS: own.ca })).toMatchObject({ code: 0, stderr: "" });
    expect(asked).toEqual([`CONNECT localhost:${port}`]);
    const { code, stderr } = await ask(environment);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^recon: [^\n]* the provider cannot be used: its certificate is signed by an unknown authority \(UNABLE_TO_\w+\)\. If it is your own CA, set NODE_EXTRA_CA_CERTS to its file and restart[^\n]*\n$/,
    );
  });

  test("is named with what the proxy said", async () => {
    const { url } = await startForwardProxy(true);
    const { code, stderr } = await ask({ PROVIDER_BASE_URL: "https://provider.example", HTTPS_PROXY: url });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^recon: [^\n]* the proxy of HTTPS_PROXY refused to connect \(HTTP\/1\.1 403 Forbidden\)\. Correct HTTPS_PROXY, or name the host in NO_PROXY[^\n]*\n$/,
    );
  });

  test("a proxy of another kind is a wrong setting", async () => {
    const { stderr } = await ask({
      PROVIDER_BASE_URL: "https://provider.example",
      HTTPS_PROXY: "socks5://proxy:1080",
    });
    expect(stderr).toContain("HTTPS_PROXY: must be a URL that begins with http:// or https://");
  });
});

test("a certificate for another name says which names it has", async () => {
  const port = await tlsProvider();
  const { stderr } = await ask({
    PROVIDER_BASE_URL: `https://127.0.0.1:${port}`,
    NODE_EXTRA_CA_CERTS: own.ca,
  });
  expect(stderr).toMatch(
    /^recon: [^\n]* its certificate is for another name \([^)]*\)\. Use a name that the certificate covers[^\n]*\n$/,
  );
});

test("a server that speaks only an old TLS is named with what OpenSSL says", async () => {
  const [cert, key] = [readFileSync(own.cert), readFileSync(own.key)];
  const server = createTlsServer({
    cert,
    key,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "ALL@SECLEVEL=0",
  });
  const { code, stderr } = await ask({
    PROVIDER_BASE_URL: `https://localhost:${await listen(server)}`,
    NODE_EXTRA_CA_CERTS: own.ca,
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^recon: [^\n]* the provider cannot be used: TLS was refused \([a-z0-9 ]+\)\. Check the certificates and TLS versions[^\n]*\n$/,
  );
});

test("alerts go through the proxy too", async () => {
  const { url, asked } = await startForwardProxy();
  const webhook = listener.url();
  await callRecon(["alerts", "test"], {
    ...SETTINGS,
    HTTP_PROXY: url,
    ALERT_WEBHOOK_URL: webhook,
    ALERT_WEBHOOK_SECRET: WEBHOOK_SECRET,
  });
  expect(asked).toContain(`POST ${new URL(webhook).host}`);
});

describe("an answer that is compressed", () => {
  const text = pageBody([betItem()]);
  const compressed =
    (bytes: Buffer, encoding: string): Respond =>
    (response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": encoding })
        .end(bytes);
  const fetchPage = async () => {
    const limits = { requestTimeoutMs: 30_000, connections: 1, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, createTestClock(NOON));
    onTestFinished(() => client.close());
    const range = { productId: "P1", from: NOON - 60_000, to: NOON, nextId: null };
    return await client.fetchBetPage(range, new AbortController().signal);
  };

  test("is decoded in every way that was asked for", async () => {
    provider.answer(() => page([]));
    await fetchPage();
    const asked = String(provider.asked[0]?.headers["accept-encoding"]).split(", ");
    const compress: Readonly<Record<string, (text: string) => Buffer>> = {
      gzip: gzipSync,
      deflate: deflateSync,
      br: brotliCompressSync,
    };
    expect(asked.toSorted()).toEqual(Object.keys(compress).toSorted());
    for (const encoding of asked) {
      provider.answer(() => compressed(compress[encoding]?.(text) ?? Buffer.from(""), encoding));
      expect((await fetchPage()).records, encoding).toHaveLength(1);
    }
  });

  test.each(["utf-8", "none", "application/json"])(
    "is read if it is not compressed but says %s",
    async (encoding) => {
      provider.answer(() => compressed(Buffer.from(text), encoding));
      expect((await fetchPage()).records).toHaveLength(1);
    },
  );

  test("wrongly by brotli is a bad page", async () => {
    provider.answer(() => compressed(gzipSync(text), "br"));
    await expect(fetchPage()).rejects.toMatchObject({
      code: "provider-not-json",
      message: expect.stringContaining("cannot be decompressed"),
    });
  });

  test("in another way is a bad page that names it", async () => {
    provider.answer(() => compressed(gzipSync(text), "compress"));
    await expect(fetchPage()).rejects.toMatchObject({
      code: "provider-not-json",
      message: expect.stringContaining('compressed as "compress", but only gzip, deflate, br was asked for'),
    });
  });
});
