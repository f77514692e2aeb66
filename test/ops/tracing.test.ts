import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { startRecon } from "../cli/run-recon.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { CREDENTIALS, page, status, useHttpProvider } from "../support/http-provider.ts";

const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-tracing-"));
const config = join(folder, "recon.config.json");
writeFileSync(
  config,
  JSON.stringify({ products: [{ productId: "P1" }], pull: { every: "PT0.5S", settleDelay: "PT0S" } }),
);
/** Writes the URL of every OpenTelemetry module that a process loads, except its API, which prom-client loads. */
const loaded = join(folder, "loaded.txt");
const spy = join(folder, "spy.mjs");
writeFileSync(
  spy,
  `import { registerHooks } from "node:module";
   import { appendFileSync } from "node:fs";
   registerHooks({ resolve(specifier, context, next) {
     const found = next(specifier, context);
     if (/@opentelemetry.(?!api.)|bullmq-otel|tracing.open-tracing/.test(found.url)) appendFileSync(${JSON.stringify(loaded)}, found.url + "\\n");
     return found;
   } });`,
);
afterAll(() => rmSync(folder, { recursive: true }));

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string | number };
}

/** A span as OTLP has it in JSON. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

/** A real HTTP server that keeps the traces it gets. */
const bodies: string[] = [];
const collector = createServer(async (request, response) => {
  if (request.url === "/v1/traces") bodies.push(await text(request).catch(() => "{}"));
  else bodies.push(`something was sent to ${request.url}`);
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
});
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

const sent = () => bodies.map((body) => JSON.parse(body) as Sent).flatMap((one) => one.resourceSpans);
const spans = () => sent().flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans));

function attributesOf({ attributes }: { readonly attributes: readonly Attribute[] }): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, String(value.stringValue ?? value.intValue ?? "")]),
  );
}

/** Runs a worker until something is done, and asks it to end, which must happen in time. */
async function runWorker(
  databaseUrl: string,
  redisUrl: string,
  environment: NodeJS.ProcessEnv,
  isDone: () => boolean,
): Promise<{ readonly code: number | null; readonly said: string }> {
  bodies.length = 0;
  rmSync(loaded, { force: true });
  const { child, ended, said } = startRecon(["worker"], {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    RECON_CONFIG: config,
    PROVIDER_BASE_URL: provider.url(),
    PROVIDER_USERNAME: CREDENTIALS.username,
    PROVIDER_PASSWORD: CREDENTIALS.password,
    OPS_PORT: "0",
    NODE_OPTIONS: `--import ${spy}`,
    ...environment,
  });
  await eventually("it has worked", () => child.exitCode !== null || isDone());
  child.kill("SIGTERM");
  await eventually("it has ended", () => child.exitCode !== null);
  return { code: (await ended).code, said: said() };
}

const CLEANLY = { code: 0, said: expect.not.stringContaining("cut off") };

describe.each([
  ["Redis", () => inject("redisUrl")],
  ["PostgreSQL", () => ""],
])("with the queues in %s", (_, redisUrl) => {
  const database = useDatabase();

  test("a job and its requests to the provider form one trace, each job its own, and all are sent before the worker ends", async () => {
    let requests = 0;
    provider.answer(() => {
      requests += 1;
      return requests % 2 === 0 ? status(500) : page([]);
    });
    // Nothing is sent before the end of the worker.
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "3600000",
    };
    const ending = await runWorker(database.url, redisUrl(), environment, () => requests > 5);
    expect(ending).toEqual(CLEANLY);
    expect(existsSync(loaded)).toBe(true);

    // Any of these jobs may fetch a due window.
    const jobs = spans().filter(({ name }) => name === "process pull" || name === "process fetch");
    expect(jobs.length).toBeGreaterThan(1);
    expect(new Set(jobs.map(({ traceId }) => traceId)).size).toBe(jobs.length);
    const asked = spans().filter(({ name }) => name === "provider seamless/betTransactionsV2");
    expect(asked.length).toBeGreaterThanOrEqual(5);
    for (const { traceId, parentSpanId } of asked) {
      expect(jobs).toContainEqual(expect.objectContaining({ traceId, spanId: parentSpanId }));
    }
    expect(asked.map(attributesOf)).toContainEqual({
      "http.request.method": "GET",
      "recon.endpoint": "seamless/betTransactionsV2",
      "recon.product.id": "P1",
      "recon.window.from": expect.stringMatching(/^20.*Z$/),
      "recon.window.to": expect.stringMatching(/^20.*Z$/),
      "http.response.status_code": "200",
    });
    const failed = asked.find((span) => attributesOf(span)["error.type"] === "provider-server-error");
    expect(failed).toMatchObject({ status: { code: 2 } });
    expect(failed && attributesOf(failed)["http.response.status_code"]).toBe("500");

    for (const { resource } of sent()) expect(attributesOf(resource)["service.name"]).toBe("wallet-recon");
    expect(bodies.join()).not.toContain(CREDENTIALS.password);
    expect(bodies.join()).not.toContain("something was sent to");
    // The provider is another company: no request has a trace header.
    for (const { headers } of provider.asked) {
      expect(Object.keys(headers)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/trace|baggage/)]),
      );
    }
  });
});

describe("a worker", () => {
  const database = useDatabase();
  const countRequests = () => {
    let requests = 0;
    provider.answer(() => {
      requests += 1;
      return page([]);
    });
    return () => requests;
  };

  test("loads no OpenTelemetry module if no setting asks for traces", async () => {
    const requests = countRequests();
    expect(await runWorker(database.url, "", {}, () => requests() > 1)).toEqual(CLEANLY);
    expect(existsSync(loaded) ? readFileSync(loaded, "utf8") : "").toBe("");
  });

  test("ends in time although the collector accepts connections and never answers, and says so", async () => {
    const hanging = createServer(() => {});
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      hanging.closeAllConnections();
      hanging.close();
    });
    const requests = countRequests();
    const endpoint = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: "100" };
    const { code, said } = await runWorker(database.url, "", environment, () => requests() > 2);
    expect([code, said]).toEqual([0, expect.stringContaining("tracing did not end in")]);
  });
});
