/**
 * The connection to PostgreSQL is cut at one message of a flow that writes money, marks, cursors, books or alerts: before the
 * server gets the message, after it got it, or the message is late. Then the flow runs again as the next tick would, and
 * the database must hold what it holds without a cut.
 *
 * `npm test` cuts a few messages of the quick flows, others in each run. `RECON_TEST_CUTS=50` cuts fifty messages of each
 * flow, `RECON_TEST_CUTS=all` all of them.
 */

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openDatabase, type Sql } from "../../../src/db/client.ts";
import { type Cut, startCuttingProxy } from "./cutting-proxy.ts";
import { type CutFlow, useFlows } from "./flows.ts";

const GIVEN = process.env["RECON_TEST_CUTS"];
const WANTED = GIVEN ?? "2";
const QUICK_FLOWS = 2;
/** The place of the first cut message in the flow, as a share. A failure names the message. */
const OFFSET = Math.random();

const databases: string[] = [];
const flows = GIVEN === undefined ? useFlows().slice(0, QUICK_FLOWS) : useFlows();

beforeAll(async () => {
  // Each flow begins with what the one before left.
  let template = inject("template");
  for (const flow of flows) {
    const before = await create(template);
    await use(before, (sql) => flow.prepare(sql, urlOf(before)));
    template = await create(before);
    const proxy = await startCuttingProxy(urlOf(template), null);
    await flow.run(proxy.url);
    await proxy.close();
    stages.set(flow.name, {
      before,
      messages: proxy.messages(),
      seen: await use(template, flow.see),
    });
  }
});
afterAll(async () => {
  for (const name of databases) await administer(`drop database if exists ${name} with (force)`);
});

interface Stage {
  /** the name of the database with which the flow begins */
  readonly before: string;
  readonly messages: number;
  /** what the database holds after a flow without a cut */
  readonly seen: unknown;
}
const stages = new Map<string, Stage>();

describe.each(flows.map((flow) => ({ name: flow.name, flow })))("$name", ({ name, flow }) => {
  test.each(["before", "after", "late"] as const)(
    "cut %s the server gets a message, holds what it holds without a cut",
    async (when) => {
      const stage = stages.get(name) as Stage;
      const wrong: unknown[] = [];
      let struck = 0;
      for (const message of choose(stage.messages)) {
        const result = await runWithCut(flow, stage, { message, when });
        struck += result.isStruck ? 1 : 0;
        if (result.problem !== null) wrong.push({ message, of: stage.messages, ...result.problem });
      }
      expect(wrong).toEqual([]);
      // Flows side by side may send some messages fewer.
      expect(struck).toBeGreaterThan(0);
    },
  );
});

function choose(messages: number): number[] {
  const count = WANTED === "all" ? messages : Math.min(Number(WANTED), messages);
  return Array.from({ length: count }, (_, index) => 1 + Math.floor(((index + OFFSET) / count) * messages));
}

async function runWithCut(flow: CutFlow, { before, seen }: Stage, cut: Cut) {
  const name = await create(before);
  const proxy = await startCuttingProxy(urlOf(name), cut);
  // The error is the flow's own business: the worker logs it, and the next tick tries again.
  const error = await flow.run(proxy.url).then(
    () => null,
    (reason: unknown) => String(reason),
  );
  await proxy.close();
  const now = await use(name, async (sql) => {
    await endLeases(sql);
    await flow.run(urlOf(name));
    return flow.see(sql);
  });
  await administer(`drop database ${name} with (force)`);
  const isSame = JSON.stringify(now) === JSON.stringify(seen);
  return { isStruck: proxy.isStruck(), problem: isSame ? null : { error, now, seen } };
}

/** As if the leases of the cut process had ended. */
async function endLeases(sql: Sql): Promise<void> {
  for (const table of ["alert_channels", "windows", "top_ups", "transfers"])
    await sql`update ${sql(table)} set lease_until = '2000-01-01' where lease_until is not null`;
}

function urlOf(name: string): string {
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  return url.href;
}

async function create(template: string): Promise<string> {
  const name = `recon_cut_${randomBytes(6).toString("hex")}`;
  databases.push(name);
  await administer(`create database ${name} template ${template} ${inject("strategy")}`);
  return name;
}

async function use<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = openDatabase(urlOf(name), 2);
  return await work(sql).finally(() => sql.end({ timeout: 5 }));
}

async function administer(statement: string): Promise<void> {
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  await admin.unsafe(statement).finally(() => admin.end());
}
