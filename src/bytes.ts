/** Amounts of data as text: "500GB". */

const UNITS = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;
const READ: Readonly<Record<string, number>> = { ...UNITS, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** "12.3 GB" */
export function showBytes(bytes: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, one]) => Math.abs(bytes) >= one) ?? ["bytes", 1];
  const value = bytes / size;
  return `${unit === "bytes" || Math.abs(value) >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** Reads "500GB", "1.5 TiB". @returns null if the text is no such amount */
export function parseBytes(text: string): number | null {
  const [, number = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?) ?([kMGT]i?B)$/.exec(text.trim()) ?? [];
  const bytes = Math.round(Number(number) * (READ[unit] ?? Number.NaN));
  return number !== "" && bytes > 0 ? bytes : null;
}
