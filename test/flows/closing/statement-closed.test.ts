import { beforeEach, expect, test } from "vitest";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import { channelsTo, useAlertListener } from "../../support/alert-listener.ts";
import { HOUR_MS } from "../../support/examples.ts";
import { useSchemas } from "../../support/json-schema.ts";
import { serveApi } from "../../support/ops-api.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const { sql, clock, diffAt, receive, listed } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock);
const findFault = useSchemas();
const webhook = useAlertListener();
const slack = useAlertListener();

beforeEach(async () => {
  await receive(...callbacksOf("20"));
  await listed(recordOf("20"));
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  await diffAt(13 * 60);
  clock.set(TODAY + DAY_MS + HOUR_MS);
});

test("a closed day is sent to the webhook once, with number, hash, totals and link, as the OpenAPI document says", async () => {
  const closing = await close("2026-11-20");
  await close("2026-11-20");
  const channels = channelsTo({ webhook });
  await deliverAlerts(context(), channels, new AbortController().signal);
  await deliverAlerts(context(), channels, new AbortController().signal);
  const heard = webhook.heard.map(({ json }) => json);
  const { hash } = (closing as { closed: { hash: string } }).closed;
  const side = { bets: 1, stake: "10", payout: "20", net: "10" };
  expect(heard).toMatchObject([
    {
      type: "statement-closed",
      idempotencyKey: `statement-closed/2026-11-20/${hash}`,
      productId: null,
      text: "2026-11-20 is closed with number 1: GGR -10.00 THB",
      link: "http://127.0.0.1:3000/report?day=2026-11-20",
      data: {
        day: "2026-11-20",
        zone: "UTC",
        number: 1,
        hash,
        previousHash: null,
        totals: [
          {
            currency: "THB",
            provider: side,
            ledger: { ...side, moved: "10" },
            difference: "0",
            rest: "0",
            ggr: "-10",
          },
        ],
      },
    },
  ]);
  const { json: document } = await (await serveApi(context()))("GET", "/api/openapi.json");
  const { schema } = document.webhooks["statement-closed"].post.requestBody.content["application/json"];
  expect(await findFault(schema, heard[0])).toBeNull();
});

test.each([
  [false, []],
  [true, ["2026-11-20 is closed with number 1: GGR -10.00 THB"]],
])(
  "with alerts.slackStatements %j, Slack gets %j, and nothing is left to deliver",
  async (slackStatements, texts) => {
    await close("2026-11-20");
    await deliverAlerts(
      context({ alerts: { slackStatements } }),
      channelsTo({ slack }),
      new AbortController().signal,
    );
    expect(slack.heard.map(({ json }) => json.text)).toEqual(texts);
    expect(await sql`select from alerts where delivered_at is null`).toEqual([]);
  },
);
