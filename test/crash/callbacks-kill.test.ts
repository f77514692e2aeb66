import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { ask, expectAsModelled, expectUnbrokenBalances, openRun } from "../callbacks/modelled-wallet.ts";
import { step, toRequests } from "../callbacks/random-callbacks.ts";
import {
  answerInModel,
  type ModelAnswer,
  type ModelRequest,
  type ModelState,
} from "../callbacks/wallet-model.ts";
import { type ReconProcess, startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";

const { sql, url: databaseUrl } = useDatabase();
const SENDERS = 6;
const REQUESTS = 50;
const KILLS = 2;
/** After each kill the command starts again, which takes long on a busy machine. */
const LONGEST_MS = 600_000;
/** A failure prints the seed. */
const SEED = Math.floor(Math.random() * 2 ** 31);

const folder = mkdtempSync(join(tmpdir(), "recon-callbacks-kill-"));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, "recon.config.json");
writeFileSync(
  config,
  JSON.stringify({ products: [{ productId: "P1" }, { productId: "S1", singleState: true }] }),
);

/** What one sender asks, one request after another, and what the server must answer. */
interface Plan {
  readonly run: string;
  readonly exchanges: readonly { readonly request: ModelRequest; readonly answer: ModelAnswer }[];
  /** in the end */
  readonly state: ModelState;
}

async function planSender(seed: number): Promise<Plan> {
  const { run, state: first } = await openRun(sql, "sender");
  let state = first;
  const exchanges = toRequests(fc.sample(step, { seed, numRuns: REQUESTS }), run).map((request) => {
    const { answer, next } = answerInModel(state, request);
    state = next;
    return { request, answer };
  });
  return { run, exchanges, state };
}

interface SendProgress {
  answered: number;
  /** how many times no answer came */
  unanswered: number;
}

/**
 * Sends as a provider does: repeats what was not answered, or was answered with 50001 because the machine was too slow.
 * @returns the wrong answers
 */
async function send({ exchanges }: Plan, url: string, progress: SendProgress): Promise<string[]> {
  const wrong: string[] = [];
  const startedAt = Date.now();
  for (const [index, { request, answer }] of exchanges.entries()) {
    let tries = 0;
    const got = await eventually(`${request.callback} is answered`, async () => {
      tries += 1;
      const one = await ask(url, request, startedAt + index).catch(() => null);
      if (one === null) progress.unanswered += 1;
      return one?.statusCode === 50001 ? null : one;
    });
    progress.answered += 1;
    // A refId stays taken where the first answer was lost (§7.4).
    const wasTaken = tries > 1 && request.callback === "adjustBalance" && got.statusCode === 20002;
    const [expected, found] = [answer, got].map((one) => fc.stringify(one));
    if (expected !== found && !wasTaken) {
      wrong.push(`seed ${SEED}: ${fc.stringify(request)} was answered ${found} instead of ${expected}`);
    }
  }
  return wrong;
}

test(
  "kill -9 under load, again and again, changes no balance, and a sender can repeat what was not answered",
  async () => {
    const port = await ownPort();
    const environment = {
      DATABASE_URL: databaseUrl,
      RECON_CONFIG: config,
      CALLBACK_PORT: String(port),
      LOG_LEVEL: "error",
    };
    const start = async (): Promise<ReconProcess> => {
      const recon = startRecon(["callbacks"], environment, "callbacks are answered at");
      if (!(await recon.ready)) throw new Error(`recon callbacks did not start:\n${recon.lastLines()}`);
      return recon;
    };
    const plans = await Promise.all(Array.from({ length: SENDERS }, (_, index) => planSender(SEED + index)));
    const progress: SendProgress = { answered: 0, unanswered: 0 };
    let recon = await start();
    const sent = Promise.all(plans.map((plan) => send(plan, `http://127.0.0.1:${port}`, progress)));
    // Numbers of answered requests. All are in the first half, so that requests are left to send after each kill.
    const killPoints = fc.sample(fc.integer({ min: 1, max: (SENDERS * REQUESTS) / 2 }), {
      seed: SEED,
      numRuns: KILLS,
    });
    for (const killPoint of killPoints.sort((a, b) => a - b)) {
      await eventually(`${killPoint} requests are answered`, () => progress.answered >= killPoint);
      recon.kill("SIGKILL");
      await recon.ended;
      recon = await start();
    }
    expect(await sent).toEqual(plans.map(() => []));
    recon.kill("SIGTERM");
    expect(await recon.ended).toBe(0);
    expect(progress.unanswered).toBeGreaterThanOrEqual(KILLS);
    for (const { run, state } of plans) {
      await expectAsModelled(sql, run, state);
      await expectUnbrokenBalances(sql, run, state);
    }
  },
  LONGEST_MS,
);
