/** Metrics as Prometheus reads them: the samples of a text, with their labels. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** @throws Error if a line is neither a comment nor a sample */
export function readSamples(text: string): Sample[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`no sample: ${line}`);
    return { name, labels: Object.fromEntries(readLabels(labels)), value: Number(value) };
  });
}

function readLabels(text: string): [string, string][] {
  return Array.from(text.matchAll(LABEL), ([, label = "", value = ""]) => [label, value]);
}

/** The samples of one metric as "label=value,…: value", in the order of the labels. */
export function showMetric(samples: readonly Sample[], name: string): string[] {
  const own = samples.filter((one) => one.name === name);
  return own
    .map(({ labels, value }) => {
      const named = Object.entries(labels).map(([label, of]) => `${label}=${of}`);
      return named.length === 0 ? String(value) : `${named.sort().join(",")}: ${value}`;
    })
    .sort();
}
