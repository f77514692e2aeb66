import { expect, test } from "vitest";
import { incidentAlert } from "../../src/alerts/alert.ts";
import { waitAfter } from "../../src/alerts/channel.ts";
import { digestAlert } from "../../src/alerts/digest.ts";
import { exampleAlerts } from "../../src/alerts/examples.ts";
import { beginIncident } from "../../src/alerts/incident.ts";
import { MEANING_OF_KIND } from "../../src/alerts/kind-meanings.ts";
import { describeAlerts, opsUrlOf } from "../../src/alerts/message.ts";
import { MISMATCH_KINDS } from "../../src/mismatch.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";

const describeOne = describeAlerts("http://127.0.0.1:3000");

test("the alert of an incident says what it means, since when, how much, its largest mismatches, and where to look", () => {
  const begun = beginIncident({ productId: "P1", kind: "missing-settlement", backfillId: 0 }, null, NOON);
  const incident = { ...begun, id: 7, total: 10, open: 9, lastAt: NOON + MINUTE_MS };
  const amounts = [
    { currency: "THB", amount: "180.48" },
    { currency: null, amount: "3" },
  ];
  const kind = "missing-settlement" as const;
  const largest = [
    {
      ...{ id: "5", kind, username: "anna", amountAtRisk: "180.48", currency: "THB", reason: "never paid" },
      provider: { ...PROVIDER_SIDE, stake: "10", payout: "180.48" },
      ledger: { ...LEDGER_SIDE, status: "open", payout: "0", moved: "-10" },
    },
  ];
  const grown = incidentAlert(incident, "grown", { amounts, largest }, NOON + MINUTE_MS);
  expect(grown.body["largest"]).toEqual([
    { id: "5", username: "anna", amountAtRisk: "180.48", currency: "THB", reason: "never paid" },
  ]);
  expect(describeOne(grown)).toEqual({
    title: "Growing: missing-settlement in P1: grown to 10 mismatches, 180.48 THB, 3.00 at risk",
    lines: [
      `missing-settlement means: ${MEANING_OF_KIND["missing-settlement"]}`,
      "since 2026-11-20 12:00:00Z",
      "money: 180.48 THB, 3.00",
      "mismatch 5: 180.48 THB of anna: never paid",
      "Ask the provider to send the callback again. Or correct the player's balance by hand, and resolve this mismatch with the correction. For mismatch 5: give 180.48 THB to anna.",
      "to see them: recon mismatches list --product P1 --kind missing-settlement",
    ],
    link: "http://127.0.0.1:3000/incidents/7",
  });
});

test("the alert of one mismatch says what to do with the player's money, and in which direction", () => {
  const kind = "missing-at-provider" as const;
  const begun = beginIncident({ productId: "P1", kind, backfillId: 0 }, null, NOON);
  const said = (moved: string, amountAtRisk: string) => {
    const known = { id: "5", kind, username: "player-014", currency: "THB", reason: "unknown", amountAtRisk };
    const largest = [{ ...known, provider: null, ledger: { ...LEDGER_SIDE, moved } }];
    const one = { ...begun, id: 7, total: 1, open: 1 };
    return describeOne(incidentAlert(one, "opened", { amounts: [], largest }, NOON)).lines.at(-2);
  };
  expect(said("3000", "3000")).toBe(
    "Ask the provider for the outcome of the bet. If the bet was never played there, take 3\u202f000.00 THB back from player-014.",
  );
  expect(said("-100", "100")).toMatch(/ never played there, give 100.00 THB to player-014\.$/);
});

test("the alert of an incident's end says when that was", () => {
  const begun = beginIncident({ productId: "P1", kind: "stuck-open", backfillId: 0 }, null, NOON);
  const over = { ...begun, id: 7, total: 1, endedAt: NOON + HOUR_MS };
  const { title, lines } = describeOne(incidentAlert(over, "over", { amounts: [], largest: [] }, NOON));
  expect(title).toMatch(/^Over: stuck-open in P1: over/);
  expect(lines.join("\n")).not.toContain("Ask the provider");
  expect(lines).toContain("since 2026-11-20 12:00:00Z, until 2026-11-20 13:00:00Z");
});

test("the digest says the money by age and by owner, nobody's first, and on a quiet day that nothing waits", () => {
  const of = (owner: string | null, isOther = false) => ({ owner, isOther, oldest: NOON - HOUR_MS });
  const sums = [
    { ageIndex: 0, currency: "THB", amount: "1", count: 1, ...of("mia") },
    { ageIndex: 3, currency: "THB", amount: "12", count: 1, ...of(null), oldest: NOON - 24 * HOUR_MS },
    { ageIndex: 3, currency: "THB", amount: "8", count: 1, ...of("mia") },
    { ageIndex: 3, currency: "USD", amount: "3", count: 1, ...of(null, true) },
  ];
  expect(describeOne(digestAlert(sums, NOON))).toEqual({
    title: "2026-11-20: 4 mismatches wait for a decision",
    lines: [
      "less than a day old: 1, 1.00 THB",
      "older than a month: 3, 20.00 THB, 3.00 USD",
      "nobody's: 1, 12.00 THB; 1 older than a month; the oldest since 2026-11-19 12:00:00Z",
      "of mia: 2, 9.00 THB; 1 less than a day old, 1 older than a month; the oldest since 2026-11-20 11:00:00Z",
      "of other owners: 1",
    ],
    link: "http://127.0.0.1:3000/mismatches",
  });
  expect(describeOne(digestAlert([], NOON)).title).toBe("2026-11-20: no mismatch waits for a decision");
});

test("every kind of mismatch has an explanation", () => {
  expect(Object.keys(MEANING_OF_KIND).sort()).toEqual([...MISMATCH_KINDS].sort());
});

test("the examples are one alert of each kind, all marked as tests, each with a key of its own", () => {
  const examples = exampleAlerts(NOON);
  expect(examples.map(({ kind }) => kind).sort()).toEqual([
    "alerts-undelivered",
    "alerts-undelivered-over",
    "answers-truncated",
    "backfill-failed",
    "backfill-failed-over",
    "books-wrong",
    "books-wrong-over",
    "clock-wrong",
    "clock-wrong-over",
    "closing-stalled",
    "closing-stalled-over",
    "comparing-set-aside",
    "comparing-set-aside-over",
    "comparing-stalled",
    "comparing-stalled-over",
    "credentials-refused",
    "credentials-refused-over",
    "digest",
    "disk-full",
    "disk-full-over",
    "entries-vanished",
    "entries-vanished-over",
    "incident-grown",
    "incident-opened",
    "incident-over",
    "ledger-changed",
    "ledger-stale",
    "ledger-unreadable",
    "ledger-unreadable-over",
    "money-outside",
    "money-outside-over",
    "product-stalled",
    "product-stalled-over",
    "provider-stale",
    "queue-unserved",
    "queue-unserved-over",
    "redis-shared",
    "redis-shared-over",
    "rejected-entries",
    "rejected-records",
    "reminder-due",
    "resweep-behind",
    "resweep-behind-over",
    "statement-closed",
    "unknown-product",
    "unknown-product-over",
    "verifying-stalled",
    "verifying-stalled-over",
  ]);
  const failed = examples.find(({ kind }) => kind === "backfill-failed");
  expect(failed && describeOne(failed).link).toBe("http://127.0.0.1:3000/backfills");
  for (const one of examples) expect(describeOne(one).title).toMatch(/^TEST, nothing happened: /);
  expect(new Set(examples.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(examples.length);
  const again = exampleAlerts(NOON + 1);
  expect(again[0]?.idempotencyKey).not.toBe(examples[0]?.idempotencyKey);
});

test.each([
  ["127.0.0.1", 3000, "http://127.0.0.1:3000"],
  ["::1", 80, "http://[::1]:80"],
  ["recon.internal", 3000, "http://recon.internal:3000"],
  ["0.0.0.0", 3000, null],
  ["::", 3000, null],
  ["127.0.0.1", 0, null],
])("the ops server at %s port %i is linked as %s", (host, port, url) => {
  expect(opsUrlOf({ host, port })).toBe(url);
  expect(opsUrlOf({ host, port, publicUrl: "https://recon.example" })).toBe("https://recon.example");
});

test.each([
  [1, 1, null, 5_000],
  [1, 0, null, 2_500],
  [4, 1, null, 40_000],
  [500, 1, null, HOUR_MS],
  [1, 1, 60_000, 60_000],
  [1, 1, 99 * HOUR_MS, HOUR_MS],
  [10, 1, 1_000, 2_560_000],
])(
  "after %i failed attempts, with jitter %d and a requested wait of %s ms, the channel waits %i ms",
  (attempts, jitter, asked, waitMs) => {
    expect(waitAfter(attempts, jitter, asked)).toBe(waitMs);
  },
);
