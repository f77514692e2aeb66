/** OpenTelemetry, configured by its standard variables; loaded only if tracing is on. */

import { type DiagLogger, DiagLogLevel, diag, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { formatInstant } from "../../clock.ts";
import type { TracingSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { BegunRequest, WatchRequest } from "../../provider-request.ts";

export interface Tracing {
  /** makes a span for each request to the provider, below the span of its job */
  readonly watch: WatchRequest;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** The longest text of a problem, which may be a whole answer of a collector. */
const LONGEST_WORDS = 300;

/** Sends spans to the configured collector until `close`. */
export function openTracing({ serviceName }: TracingSettings, log: Log): Tracing {
  const sdk = new NodeSDK({
    ...(serviceName === null ? {} : { serviceName }),
    // Metrics are at /metrics, and logs go to standard error; OpenTelemetry sends only traces.
    metricReaders: [],
    logRecordProcessors: [],
  });
  diag.setLogger(reportTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  return { watch: watchBySpans, close: () => sdk.shutdown() };
}

/** Unsent traces are no failure of the work, so this only logs them. */
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

/**
 * The provider belongs to another company. Requests carry no trace headers, and spans show only the endpoint of the
 * URL.
 */
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
