/** The manifests against the schemas of Kubernetes and of the Prometheus operator, against each other, and against the program. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { codesIn, ROOT, rowsOf } from "../docs/pages.ts";
import { faultsOf } from "./command-check.ts";
import { type Container, containersOf, type Manifest, type Workload } from "./manifest.ts";
import { misspelledFields } from "./misspelled-fields.ts";
import { writeConfig } from "./write-config.ts";

const FOLDER = join(ROOT, "deploy/kubernetes");
const read = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const files = globSync("*.yaml", { cwd: FOLDER }).filter((name) => name !== "kustomization.yaml");
const manifests = files.flatMap((name) =>
  parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest),
);
const kinds = (...wanted: string[]) => manifests.filter(({ kind }) => wanted.includes(kind));
const workloads = kinds("Deployment", "StatefulSet", "Job") as Workload[];
const config = kinds("ConfigMap")[0]?.data ?? {};

/** What docs/deploy.md puts into the Secret. */
const SECRET: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://recon:secret@postgres.example/recon",
  REDIS_URL: "redis://redis.example:6379",
  PROVIDER_USERNAME: "agent",
  PROVIDER_PASSWORD: "secret",
  OPS_TOKENS: "ops:write:at-least-16-characters",
  CALLBACK_SIGNATURE_KEY: "at-least-16-characters",
};

/** The API of a kind: its folder in the packages of the schemas. */
function packageOf({ apiVersion }: Manifest): string {
  return apiVersion.startsWith("monitoring.")
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;
}

test.each(manifests)("$kind $metadata.name keeps to its schema", async (manifest) => {
  const models: Record<string, new (data: object) => { validate(): void }> = await import(
    packageOf(manifest)
  );
  const Model = models[manifest.kind];
  if (Model === undefined) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`);
  expect(() => new Model(manifest).validate()).not.toThrow();
});

test("no field is misspelled", async () => {
  expect(await misspelledFields(manifests.map((one) => ({ ...one, package: packageOf(one) })))).toEqual([]);
  const [first] = workloads as [Workload];
  const wrong = { ...first, spec: { ...first.spec, replica: 2 }, package: packageOf(first) };
  expect(await misspelledFields([wrong])).toEqual([expect.stringContaining('"replica"')]);
});

test("the kustomization names every manifest, switched on or off, and the image of all of them", () => {
  const text = read("kustomization.yaml");
  const named = Array.from(text.matchAll(/^ {2}(?:# )?- (\w+\.yaml)$/gm), ([, name]) => name);
  expect(named.sort()).toEqual(files.sort());
  const { images } = parse(text) as { images: { name: string }[] };
  expect(images.map(({ name }) => name)).toEqual(["wallet-recon"]);
});

describe.each(workloads)("$kind $metadata.name", (workload) => {
  const { template, selector } = workload.spec;
  const [container] = containersOf(workload) as [Container];

  test("runs a command that exists, with settings that suffice", async () => {
    const environment: Record<string, string> = { NODE_ENV: "production" };
    for (const { name, value, valueFrom } of container.env) {
      const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
      const from = secretKeyRef === undefined ? config : SECRET;
      const key = secretKeyRef?.key ?? configMapKeyRef?.key ?? "";
      if (valueFrom !== undefined && secretKeyRef?.optional !== true) expect(from).toHaveProperty(key);
      const given = value ?? from[key];
      if (given !== undefined) environment[name] = given;
    }
    if (environment["RECON_CONFIG"] !== undefined) {
      const mounted = container.volumeMounts?.some(({ mountPath }) => mountPath === "/config");
      expect([environment["RECON_CONFIG"], mounted]).toEqual(["/config/recon.config.json", true]);
      environment["RECON_CONFIG"] = writeConfig(config["recon.config.json"]);
    }
    expect(await faultsOf(container.args, environment)).toEqual([]);
  });

  test("takes its secrets by reference, from one Secret", () => {
    for (const { name, value, valueFrom } of container.env) {
      if (Object.hasOwn(SECRET, name) || /^ALERT|^HEARTBEAT/.test(name)) {
        expect([name, value, valueFrom?.secretKeyRef?.name]).toEqual([name, undefined, "recon"]);
      }
    }
  });

  test("runs without rights, on a read-only file system, within bounds, and apart from the API of Kubernetes", () => {
    expect(template.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(template.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
    });
    expect(container.resources.limits).toHaveProperty("memory");
  });

  test("is asked at a path and a port that exist", () => {
    const ports = new Map((container.ports ?? []).map(({ name, containerPort }) => [name, containerPort]));
    expect([...ports]).toEqual([...ports].filter(([name, port]) => PORTS[name] === port));
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    for (const probe of probes.filter((one) => one !== undefined)) {
      expect([...ports.keys()]).toContain(probe.httpGet?.port ?? probe.tcpSocket?.port);
      if (probe.httpGet !== undefined) expect(PATHS).toContain(`GET ${probe.httpGet.path}`);
    }
  });

  test("finds its own pods and volumes", () => {
    if (selector !== undefined) expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    const volumes = [
      ...(template.spec.volumes ?? []).map(({ name }) => name),
      ...(workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name),
    ];
    expect((container.volumeMounts ?? []).map(({ name }) => name).sort()).toEqual(volumes.sort());
  });
});

/** The ports at which the program listens unless it is asked otherwise. */
const PORTS: Readonly<Record<string, number>> = { ops: 3000, callbacks: 3001 };
/** docs/api.md, which a test compares with the routes. */
const PATHS = rowsOf("docs/api.md", "path").flatMap(([route = ""]) => codesIn(route));

test("services, disruption budgets, network policies and the service monitor select pods, by ports that these have", () => {
  const pods = workloads.map((one) => ({
    labels: one.spec.template.metadata.labels,
    ports: containersOf(one).flatMap(({ ports = [] }) => ports.map(({ name }) => name)),
  }));
  const selectedBy = (labels: Readonly<Record<string, string>>) =>
    pods.filter((pod) => Object.entries(labels).every(([name, value]) => pod.labels[name] === value));
  for (const { metadata, spec } of kinds("Service")) {
    const chosen = selectedBy(spec["selector"] as never);
    expect([metadata.name, chosen.length]).toEqual([metadata.name, 1]);
    for (const { targetPort } of spec["ports"] as never[]) expect(chosen[0]?.ports).toContain(targetPort);
  }
  for (const { spec } of kinds("PodDisruptionBudget")) {
    expect(selectedBy((spec["selector"] as { matchLabels: never }).matchLabels)).toHaveLength(1);
  }
  const known = new Set(pods.flatMap(({ ports }) => ports));
  for (const { spec } of kinds("NetworkPolicy")) {
    for (const { ports } of (spec["ingress"] ?? []) as { ports: { port: string }[] }[]) {
      for (const { port } of ports) expect(known).toContain(port);
    }
  }
  const [monitor] = kinds("ServiceMonitor");
  for (const { port, path } of (monitor?.spec["endpoints"] ?? []) as { port: string; path: string }[]) {
    expect([port, PATHS.includes(`GET ${path}`)]).toEqual(["ops", true]);
  }
});
