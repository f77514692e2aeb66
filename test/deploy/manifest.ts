/** What the tests read of Kubernetes manifests. Their schemas are checked elsewhere. */

type Labels = Readonly<Record<string, string>>;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Labels;
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface Container {
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: KeyRef; readonly configMapKeyRef?: KeyRef };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources: { readonly limits: object };
  readonly securityContext: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

/** A Deployment, a StatefulSet or a Job. */
export interface Workload extends Manifest {
  readonly spec: {
    readonly selector?: { readonly matchLabels: Labels };
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly securityContext: object;
        readonly volumes?: readonly { readonly name: string }[];
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  } & Manifest["spec"];
}

export function containersOf({ spec }: Workload): readonly Container[] {
  return spec.template.spec.containers;
}
