/** OpenTelemetry, set up by its own variables; loaded only where traces are asked for. */

import { type DiagLogger, DiagLogLevel, diag, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { formatInstant } from "../../clock.ts";
import type { TracingSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { BegunRequest, WatchRequest } from "../../provider-request.ts";

export interface Tracing {
  /** a span for each request to the provider, below that of the job it is for */
  readonly watch: WatchRequest;
  /** Sends what was not sent yet. */
  close(): Promise<void>;
}

/** What it has to say may be a whole answer of a collector. */
const LONGEST_WORDS = 300;

/** Spans go to where the variables say, until `close`. */
export function openTracing({ serviceName }: TracingSettings, log: Log): Tracing {
  const sdk = new NodeSDK({
    ...(serviceName === null ? {} : { serviceName }),
    // The metrics are at /metrics and the log on standard error; only traces are sent.
    metricReaders: [],
    logRecordProcessors: [],
  });
  diag.setLogger(reportTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  return { watch: watchBySpans, close: () => sdk.shutdown() };
}

/** Traces that cannot be sent are no failure of the work, but somebody should know. */
function reportTo(log: Log): DiagLogger {
  const report = (words: string) =>
    log.warn({ error: words.slice(0, LONGEST_WORDS) }, "tracing has a problem");
  const silent = () => {};
  return { error: report, warn: report, info: silent, debug: silent, verbose: silent };
}

const watchBySpans: WatchRequest = (begun) => {
  const span = trace
    .getTracer("wallet-recon")
    .startSpan(`provider ${begun.endpoint}`, { kind: SpanKind.CLIENT, attributes: describe(begun) });
  return ({ outcome, status }) => {
    if (status !== null) span.setAttribute("http.response.status_code", status);
    if (outcome !== "ok") {
      span.setAttribute("error.type", outcome);
      span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
    }
    span.end();
  };
};

/** The provider is somebody else: it is told of no trace, and of its URL nothing is shown but the endpoint. */
function describe({ endpoint, method, productId, window }: BegunRequest): Record<string, string> {
  return {
    "http.request.method": method,
    "recon.endpoint": endpoint,
    ...(productId === null ? {} : { "recon.product.id": productId }),
    ...(window === null
      ? {}
      : { "recon.window.from": formatInstant(window.from), "recon.window.to": formatInstant(window.to) }),
  };
}
