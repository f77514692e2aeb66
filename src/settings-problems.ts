/** Describes wrong settings, with path and value. */

import type { z } from "zod";
import { ReconError } from "./errors.ts";

/** The names of settings whose values are secret: errors never show them. */
const SECRET = /PASSWORD|TOKENS|SECRET|_KEY|_URL|\.secret\b/;

/**
 * One line for each issue: its path, the problem, and the value, unless it is secret.
 * @param prefix the beginning of each line
 */
export function describeIssues(error: z.ZodError, value: unknown, prefix: string): string[] {
  const problems = error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => {
          // A misplaced value may be a password.
          return { keys: [...issue.path, key], message: `there is no setting "${key}"`, isSecret: true };
        })
      : [{ keys: issue.path, message: messageOf(issue), isSecret: false }],
  );
  return problems.map(({ keys, message, isSecret }) => {
    const path = keys
      .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
      .join("")
      .replace(/^\./, "");
    const at = keys.reduce<unknown>(valueAt, value);
    const shown =
      at === undefined || isSecret || SECRET.test(path) ? "" : ` (it is ${JSON.stringify(at)?.slice(0, 80)})`;
    return `${prefix}${path || "the whole"}: ${message}${shown}`;
  });
}

/** The message of an issue. For an invalid key, the message of the key's own check. */
function messageOf(issue: z.core.$ZodIssue): string {
  const inner = issue.code === "invalid_key" ? issue.issues[0] : undefined;
  return inner?.message ?? issue.message;
}

/** The value at a key. A list in the environment is one text with commas. */
function valueAt(value: unknown, key: PropertyKey): unknown {
  if (typeof value === "string") return value.split(",")[Number(key)]?.trim();
  return (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];
}

/** One error with all problems of the settings. */
export function settingsError(problems: string[]): ReconError {
  const heading = problems.length === 1 ? "a setting is wrong" : `${problems.length} settings are wrong`;
  return new ReconError(
    "settings-invalid",
    `${heading}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
  );
}
