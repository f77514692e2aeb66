/** Runs the example of docs/callbacks.md that signs a callback, against a server that requires signatures. */

import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { systemClock } from "../../src/clock.ts";
import { post, startOperator } from "../callbacks/operator.ts";
import { useDatabase } from "../support/database.ts";
import { amount, NOON } from "../support/examples.ts";
import { blockWith } from "./pages.ts";

const { sql } = useDatabase();

/** The example needs it. A slim image has none, and the reader of the example would have installed it. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

test.skipIf(!hasOpenssl)(
  "the server answers a callback signed by the shell example, and refuses one with another key",
  async () => {
    const example = blockWith("docs/callbacks.md", "sh", "sapi-signature");
    const signing = example.slice(0, example.indexOf("curl "));
    const credit = { username: "anna", currency: "THB", amount: amount("100"), ref: "welcome-anna" };
    await creditWallet(sql, credit, NOON);
    const operator = await startOperator(sql, {
      context: { clock: systemClock },
      settings: { signatureKey: "a shared key" },
    });
    const sendSignedWith = async (key: string) => {
      const script = `set -e\n${signing}\nprintf '%s\\n' "$body" "$timestamp" "$signature"`;
      const { stdout } = await promisify(execFile)("sh", ["-c", script], {
        env: { PATH: process.env["PATH"], CALLBACK_SIGNATURE_KEY: key },
      });
      const [body = "", timestamp = "", signature = ""] = stdout.split("\n");
      const headers = { "sapi-timestamp": timestamp, "sapi-signature": signature };
      return (await post(operator.url, "checkBalance", body, headers)).json;
    };
    expect(await sendSignedWith("a shared key")).toMatchObject({
      statusCode: 0,
      balance: 100,
      username: "anna",
    });
    expect(await sendSignedWith("another key")).toMatchObject({ statusCode: 30002 });
    for (const header of ["sapi-timestamp: $timestamp", "sapi-signature: $signature", '"$body"']) {
      expect(example).toContain(header);
    }
  },
);
