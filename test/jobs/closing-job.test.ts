import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openAlertJob, openClosingJob } from "../../jobs/tick-jobs.ts";
import { silentLog } from "../../src/log.ts";
import { DAY_MS, TODAY, useClosing } from "../flows/closing/closing-world.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { HOUR_MS } from "../support/examples.ts";
import { serveApi } from "../support/ops-api.ts";

const { sql, clock, diffAt, receive, listed } = useDiffWorld();
const { context, fetched } = useClosing(sql, clock, {
  products: [{ productId: "P1" }],
  closing: { after: "PT1H" },
});
const signal = new AbortController().signal;

test("a worker closes a due day, checks the books at its start, and reports a statement that was altered with psql", async () => {
  await receive(...callbacksOf("20"));
  await listed(recordOf("20"));
  await fetched(TODAY, TODAY + 2 * DAY_MS);
  await diffAt(13 * 60);
  clock.set(TODAY + DAY_MS + 2 * HOUR_MS);
  const work = async () => {
    await openClosingJob(context()).run(signal, silentLog);
    await openAlertJob(context(), []).run(signal, silentLog);
    const { json } = await (await serveApi(context()))("GET", "/api/status");
    return json.books;
  };
  expect(await work()).toEqual({ closedUpTo: "2026-11-20", problem: null });
  await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"1"')`;
  const problem = "the closed day 2026-11-20 was altered: its statement does not have its hash";
  expect(await work()).toEqual({ closedUpTo: "2026-11-20", problem });
  await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"0"')`;
  expect(await work()).toEqual({ closedUpTo: "2026-11-20", problem: null });
  const kinds = await sql`select kind from alerts where kind ~ 'books|statement' order by id`;
  expect(kinds.map(({ kind }) => kind)).toEqual(["statement-closed", "books-wrong", "books-wrong-over"]);
});

test("a day that could not be closed says why wherever it is asked for, until it is closed", async () => {
  const archive = mkdtempSync(join(tmpdir(), "recon-sealed-"));
  onTestFinished(() => rmSync(archive, { recursive: true }));
  writeFileSync(join(archive, "holiday.jpg"), "");
  await receive(...callbacksOf("20"));
  await listed(recordOf("20"));
  await fetched(TODAY, TODAY + 2 * DAY_MS);
  await diffAt(13 * 60);
  clock.set(TODAY + DAY_MS + 2 * HOUR_MS);
  const closing = {
    ...context(),
    config: { ...context().config, closing: { ...context().config.closing, archive } },
  };
  const job = openClosingJob(closing);
  const firstOpen = async () => {
    await job.run(signal, silentLog);
    const { json } = await (await serveApi(closing))("GET", "/api/report?month=2026-11");
    return json.open.find(({ day }: { day: string }) => day === "2026-11-20")?.reason;
  };
  const alerts = async () => {
    await openAlertJob(closing, []).run(signal, silentLog);
    return (await sql`select kind from alerts where kind ~ 'closing' order by id`).map(({ kind }) => kind);
  };
  expect(await firstOpen()).toBe(
    `closing.archive "${archive}" cannot be used: it holds something else: "holiday.jpg". Choose a folder of its own, or move that away.`,
  );
  expect(await alerts()).toEqual(["closing-stalled"]);
  rmSync(join(archive, "holiday.jpg"));
  expect(await firstOpen()).toBeUndefined();
  expect(await alerts()).toEqual(["closing-stalled", "closing-stalled-over"]);
});
