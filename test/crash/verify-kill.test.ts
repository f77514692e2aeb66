import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { handOverTransfers } from "../../src/flows/verify/operate-transfers.ts";
import { silentLog } from "../../src/log.ts";
import { startCrew } from "../simulation/crew.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { CREDENTIALS } from "../support/http-provider.ts";
import { bookedAs, useVerifyProvider } from "../support/verify-provider.ts";
import { deposit, SECOND_MS } from "../verify/sent.ts";

const { sql, url } = useDatabase();
const provider = useVerifyProvider();
const CONFIG = {
  products: [{ productId: "P1", walletMode: "transfer" }],
  verify: { every: "PT0.2S" },
};
const COUNT = 80;
/** The worker is killed when it has asked so many questions. */
const KILLED_AT = 16;

test("a worker that is killed with kill -9 during verification forgets nothing, and the next one decides nothing twice", async () => {
  const isKilled = Promise.withResolvers<void>();
  // A kill must find questions under way, and answers without a final outcome.
  provider.answer(async (question) => {
    if (provider.questions.length >= KILLED_AT) await isKilled.promise;
    await systemClock.sleep(30);
    return bookedAs(question);
  });
  const context = { sql, config: parseConfig(CONFIG), clock: systemClock, log: silentLog };
  const sentAt = systemClock.now() - 60 * SECOND_MS;
  await handOverTransfers(
    context,
    Array.from({ length: COUNT }, (_, index) => ({
      transfer: deposit({ transactionRef: `ref-${index}`, sentAt }),
      label: "",
    })),
  );
  const crew = startCrew(1, environmentOf(CONFIG));
  onTestFinished(() => crew.stop());
  await eventually(`${KILLED_AT} were asked for`, () => provider.questions.length >= KILLED_AT);
  await crew.kill(0);
  const leftLying = await endLeases();
  isKilled.resolve();
  const countPending = async () => (await sql`select from transfers where status = 'pending'`).count;
  await eventually("all are decided", async () => (await countPending()) === 0);
  await crew.stop();

  expect(crew.problems).toEqual([]);
  expect(leftLying).toBeGreaterThan(0);
  const [row] = await sql`
    select (select count(*) from transfers where status = 'accepted' and attempts = 1 and lease_token is null) as once,
      (select count(*) from transfer_answers) as answers, (select count(*) from mismatches) as mismatches`;
  expect(row).toEqual({ once: COUNT, answers: COUNT, mismatches: 0 });
  expect(new Set(provider.questions.map(({ path }) => path))).toEqual(new Set(["/verifyDepositWithdraw"]));
});

/** Ends all leases as if half a minute had passed. */
async function endLeases(): Promise<number> {
  const ended = await sql`
    update transfers set lease_until = clock_timestamp() - interval '1 second' where lease_token is not null`;
  return ended.count;
}

function environmentOf(config: object): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-verify-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "recon.config.json");
  writeFileSync(path, JSON.stringify(config));
  return {
    DATABASE_URL: url,
    PROVIDER_BASE_URL: provider.url(),
    PROVIDER_USERNAME: CREDENTIALS.username,
    PROVIDER_PASSWORD: CREDENTIALS.password,
    RECON_CONFIG: path,
    OPS_PORT: "0",
    LOG_LEVEL: "info",
  };
}
