import { describe, expect, test } from "vitest";
import { readSettings } from "../src/config.ts";

const ENDPOINT = "http://collector:4318";
const read = (environment: NodeJS.ProcessEnv) => readSettings([], { RECON_CONFIG: "", ...environment });

describe("the worker writes traces", () => {
  test.each<[string, NodeJS.ProcessEnv, string | null]>([
    ["an endpoint for all signals", { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, "wallet-recon"],
    ["an endpoint for traces", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, "wallet-recon"],
    ["an exporter", { OTEL_TRACES_EXPORTER: "console" }, "wallet-recon"],
    [
      "the service besides an endpoint",
      { OTEL_TRACES_EXPORTER: "otlp", OTEL_SERVICE_NAME: "recon-eu" },
      null,
    ],
    [
      "the name among other attributes",
      { OTEL_TRACES_EXPORTER: "otlp", OTEL_RESOURCE_ATTRIBUTES: "region=eu, service.name=recon-eu" },
      null,
    ],
  ])("if the standard variables name %s", (_, environment, serviceName) => {
    expect(read(environment).tracing).toEqual({ serviceName });
  });

  test.each<[string, NodeJS.ProcessEnv]>([
    ["nothing is set", {}],
    ["only a name is set", { OTEL_SERVICE_NAME: "recon-eu" }],
    ["a variable is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["the exporter is none", { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
    ["the SDK is disabled", { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: "True" }],
  ])("but not if %s", (_, environment) => {
    expect(read(environment).tracing).toBeNull();
  });
});
