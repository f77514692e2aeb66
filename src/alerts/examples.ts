/** One invented alert of each kind, to try out a channel before anything happens. */

import { formatInstant, type Instant } from "../clock.ts";
import { type DueReminder, MISMATCH_EVENT_TYPES, type Mismatch } from "../mismatch.ts";
import { type Alert, incidentAlert, type KnownMismatch, reminderAlerts } from "./alert.ts";
import { beginningAlert, type Condition, endAlert, type StandingCondition } from "./condition.ts";
import { digestAlert, type Unresolved } from "./digest.ts";
import { advanceIncident, beginIncident, type IncidentNews } from "./incident.ts";
import { statementClosed } from "./statement-closed.ts";

const PRODUCT = "EXAMPLE";
const HOUR_MS = 3_600_000;

const CONDITIONS: readonly Condition[] = [
  {
    kind: "product-stalled",
    subject: PRODUCT,
    productId: PRODUCT,
    what: `${PRODUCT} is stalled: some of its time cannot be fetched`,
    remedy: "Newer time is still fetched. The worker retries the gap automatically.",
    whatWhenOver: `${PRODUCT} is not stalled any more: no gap is left`,
  },
  {
    kind: "credentials-refused",
    subject: "provider",
    productId: null,
    what: `the provider refuses the credentials: ${PRODUCT} is not pulled`,
    remedy: "Check PROVIDER_USERNAME and PROVIDER_PASSWORD, then restart the worker.",
    whatWhenOver: "the provider accepts the credentials again",
  },
  {
    kind: "alerts-undelivered",
    subject: "webhook",
    productId: null,
    what: "webhook does not accept alerts: 2 wait",
    remedy: "No alert is lost: all are sent when the webhook accepts alerts again.",
    whatWhenOver: "no alert waits for webhook any more",
  },
  {
    kind: "comparing-stalled",
    subject: PRODUCT,
    productId: PRODUCT,
    what: `${PRODUCT} has not been compared for ten minutes`,
    remedy: "Check that a worker runs and takes jobs: /readyz and the worker's log name the problem.",
    whatWhenOver: `${PRODUCT} is compared again`,
  },
  {
    kind: "comparing-set-aside",
    subject: PRODUCT,
    productId: PRODUCT,
    what: `${PRODUCT}: 1 comparison failed and is set aside`,
    remedy: "Everything else is compared, and the worker retries automatically.",
    whatWhenOver: `${PRODUCT}: no comparison is set aside any more`,
  },
  {
    kind: "ledger-unreadable",
    subject: "example.ledger",
    productId: null,
    what: 'the ledger "example.ledger" cannot be read: there is no such table or view',
    remedy: "Restore the relation, or correct ledger.relation. Newer bets are compared when it can be read.",
    whatWhenOver: 'the ledger "example.ledger" is read again',
  },
  {
    kind: "verifying-stalled",
    subject: `transfer ${PRODUCT}`,
    productId: PRODUCT,
    what: `the provider has answered no question about transfers of ${PRODUCT}`,
    remedy: "Ask the provider about its verify endpoint. The worker decides nothing without an answer.",
    whatWhenOver: `the provider answers questions about transfers of ${PRODUCT} again`,
  },
  {
    kind: "resweep-behind",
    subject: PRODUCT,
    productId: PRODUCT,
    what: `${PRODUCT}: the resweep after 1 h has been due since noon`,
    remedy: "New time comes first. Raise pull.concurrency, or remove ages from pull.resweepAfter.",
    whatWhenOver: `${PRODUCT}: resweeps are on time again`,
  },
  {
    kind: "closing-stalled",
    subject: "closing",
    productId: null,
    what: `closing has made no progress since noon: 2026-11-20 stays open. ${PRODUCT} was not fetched from 03:00 to 04:00`,
    remedy: "Fix what the reason names. The worker then closes the day by itself.",
    whatWhenOver: "days are closed again",
  },
  {
    kind: "entries-vanished",
    subject: "2026-11-20T03:00:00.000Z",
    productId: null,
    what: "callback_entries does not have the entries that were accepted. By day (UTC): 2026-11-20: 1204 accepted, 1201 found",
    remedy: "Find out what bypassed the table's triggers, and restore the missing rows from a backup.",
    whatWhenOver: "the missing entries of 2026-11-20 are back, or the operator accepted the loss",
  },
  {
    kind: "money-outside",
    subject: PRODUCT,
    productId: PRODUCT,
    what: `${PRODUCT}: 5000.00 THB moved since midnight by 1 entry outside the comparison`,
    remedy: `Check products[].walletMode and products[].settlement of ${PRODUCT}, or correct the money.`,
    whatWhenOver: `${PRODUCT}: no money is outside the comparison any more on days that are not closed`,
  },
  {
    kind: "unknown-product",
    subject: "EXAMPLE-NEW",
    productId: "EXAMPLE-NEW",
    what: "EXAMPLE-NEW is not in the settings, so it is not compared: it has 2 entries in the ledger; 15.00 THB moved since midnight",
    remedy: "Add EXAMPLE-NEW to products of recon.config.json and restart the worker.",
    whatWhenOver: "EXAMPLE-NEW is in the settings, or has no new entries and records any more",
  },
  {
    kind: "books-wrong",
    subject: `2026-11-20 ${PRODUCT} THB`,
    productId: PRODUCT,
    what: `${PRODUCT}: nothing explains 20.00 THB of the complete day 2026-11-20`,
    remedy: "Do not rely on this figure. recon report --day 2026-11-20 shows the row.",
    whatWhenOver: `${PRODUCT}: all money of 2026-11-20 in THB is explained again`,
  },
  {
    kind: "disk-full",
    subject: "database",
    productId: null,
    what: "the database's disk: 29 days of disk left at this rate, of the 500 GB that DATABASE_DISK allows",
    remedy: "Add disk and raise DATABASE_DISK, or close days and shorten retain.",
    whatWhenOver: "the database's disk lasts for 35 days again, or the database no longer grows",
  },
  {
    kind: "backfill-failed",
    subject: "backfill 7",
    productId: PRODUCT,
    what: `backfill 7 of ${PRODUCT} from 2026-11-20 03:00:00Z to 2026-11-20 04:00:00Z has failed: 1 window could not be fetched`,
    remedy: "When the provider answers again: recon backfill resume 7.",
    whatWhenOver: `backfill 7 of ${PRODUCT} was resumed, or a later one has fetched what was missing`,
  },
  {
    kind: "queue-unserved",
    subject: "backfill",
    productId: null,
    what: 'no job of the queue "backfill" has begun for ten minutes',
    remedy: "Check that a worker runs, and that the queues can be reached (REDIS_URL).",
    whatWhenOver: 'the queue "backfill" is served again',
  },
  {
    kind: "clock-wrong",
    subject: "worker 12 on example",
    productId: null,
    what: "the clock of the worker 12 on example is 7 h ahead of the database's: it plans, compares and verifies nothing",
    remedy: "Correct that machine's clock, and keep it in sync with NTP. All work then resumes by itself.",
    whatWhenOver: "the clock of the worker 12 on example is right again, or the process has ended",
  },
  {
    kind: "redis-shared",
    subject: "Redis",
    productId: null,
    what: "Redis at redis.example:6379 has the queues of another installation, and each would slow the other",
    remedy: "Give each installation its own REDIS_PREFIX, Redis or Redis database, and restart its workers.",
    whatWhenOver: "no other installation uses this Redis any more",
  },
];

/** Every alert says in its text, and by `test: true`, that it is a test. Each call uses new keys. */
export function exampleAlerts(now: Instant): Alert[] {
  const since = now - HOUR_MS;
  const alerts = [
    ...(["opened", "grown", "over"] as const).map((news) => exampleIncident(news, since, now)),
    ...CONDITIONS.flatMap((one) => [beginningAlert(one, since), endAlert(standing(one, since), now)]),
    plain("rejected-records", `${PRODUCT}: a record of the provider cannot be used`, now),
    plain("rejected-entries", `${PRODUCT}: a row of the ledger cannot be used`, now),
    plain("ledger-changed", `${PRODUCT}: a row of the ledger was changed; its first content stays`, now),
    plain("answers-truncated", `${PRODUCT}: the provider cuts answers at 1000 records without a nextId`, now),
    plain("ledger-stale", `${PRODUCT}: none of the newest bets has any callback in the ledger`, now),
    plain("provider-stale", `${PRODUCT}: none of the newest settled bets has a record at the provider`, now),
    exampleStatement(now),
    ...reminderAlerts([exampleReminder(now)], now),
    digestAlert([exampleSum("mia", 2, since), exampleSum(null, 1, since)], now),
  ];
  return alerts.map((alert) => ({
    ...alert,
    idempotencyKey: `test/${formatInstant(now)}/${alert.kind}`,
    body: { ...alert.body, test: true },
  }));
}

/** One invented event of each type of a single mismatch; its payload says that it is a test. */
export function exampleEvents(now: Instant): Alert[] {
  const [at, username, currency] = [formatInstant(now - HOUR_MS), "example-player", "USD"];
  const mismatch: Mismatch = {
    ...{ id: "0", kind: "missing-settlement", status: "open", productId: PRODUCT, username, currency },
    ...{ betId: "0", transactionId: "0", roundId: "0", transactionRef: null, amountAtRisk: "12.5" },
    ...{ effect: "-12.5", otherCurrencies: [], provider: null, ledger: null },
    reason: "SETTLED with a payout of 12.50 USD at the provider, still open in the ledger",
    ...{ occurredAt: at, firstSeenAt: at, lastSeenAt: at, countsOn: at.slice(0, 10) },
    ...{ resolvedAt: null, resolvedBy: null, note: null },
    ...{ owner: null, ticket: null, withProvider: null, remindAt: null },
  };
  return MISMATCH_EVENT_TYPES.map((kind) => {
    const body = { what: `${kind}: a test, nothing happened`, by: "recon", test: true, mismatch };
    return { idempotencyKey: `test/${formatInstant(now)}/${kind}`, kind, productId: PRODUCT, body, at: now };
  });
}

function exampleIncident(news: IncidentNews, since: Instant, now: Instant): Alert {
  const begun = beginIncident({ productId: PRODUCT, kind: "missing-settlement", backfillId: 0 }, null, since);
  const joined = news === "opened" ? 1 : 10;
  const left = news === "over" ? joined : 0;
  const incident = { ...advanceIncident(begun, { joined, returned: 0, left }, now), id: 0 };
  const [at, username, currency] = [formatInstant(since), "example-player", "USD"];
  const bet = { stake: "10.00", currency, username };
  const example: KnownMismatch = {
    id: "0",
    kind: "missing-settlement",
    username,
    amountAtRisk: "12.50",
    currency,
    reason: "SETTLED with a payout of 12.50 USD at the provider, still open in the ledger",
    provider: {
      ...bet,
      id: "0",
      betId: "0",
      status: "SETTLED",
      payout: "12.50",
      updatedDate: at,
      accountingDate: at,
    },
    ledger: {
      ...bet,
      txnId: "0",
      status: "open",
      payout: "0",
      moved: "-10.00",
      firstEntryAt: at,
      lastEntryAt: at,
    },
  };
  return incidentAlert(
    incident,
    news,
    { amounts: [{ currency: "USD", amount: "12.50" }], largest: [example] },
    now,
  );
}

function exampleReminder(now: Instant): DueReminder {
  const of = {
    kind: "missing-settlement",
    productId: PRODUCT,
    username: "example-player",
    reason: "still open",
  };
  const money = { amount: "12.50", currency: "USD" };
  return { about: "mismatch", id: 0, remindAt: now, owner: "mia", ticket: "EXAMPLE-12", ...of, ...money };
}

function exampleSum(owner: string | null, count: number, oldest: Instant): Unresolved {
  return { ageIndex: 0, owner, isOther: false, count, currency: "USD", amount: "12.50", oldest };
}

function exampleStatement(now: Instant): Alert {
  const side = { bets: 2, stake: "20.00", payout: "7.50", net: "-12.50", ggr: "12.50" };
  const parts = { mismatches: "0", adjustments: "0", pending: "0", rounding: "0", outside: "0", rest: "0" };
  const provider = { ...side, rewards: null, tips: null };
  const ledger = { ...side, rewards: "2.50", tips: "0", moved: "-12.50" };
  const sums = { provider, ledger, difference: "0", ...parts, complete: true, ggr: "12.50" };
  const [hash, zone] = ["0".repeat(64), "UTC"];
  const closed = { day: formatInstant(now).slice(0, 10), zone, number: 1, hash, previousHash: null };
  return statementClosed({ ...closed, totals: [{ currency: "USD", ...sums }] }, now);
}

function standing(condition: Condition, since: Instant): StandingCondition {
  return { ...condition, since, heads: {} };
}

function plain(kind: string, what: string, at: Instant): Alert {
  const body = { what, productId: PRODUCT, since: formatInstant(at) };
  return { idempotencyKey: kind, kind, productId: PRODUCT, body, at };
}
