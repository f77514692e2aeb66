import { describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { Booking } from "../../src/verify/answer.ts";
import { firstVerifyAt } from "../../src/verify/decide.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { deposit, live, SECOND_MS, topUp, VERIFY } from "./sent.ts";

const DAY_MS = 24 * HOUR_MS;
const settings = (verify: object) => parseConfig({ products: [{ productId: "P1" }], verify }).verify;

describe("the next question", () => {
  test("comes first at the first delay after the sending, and at once if the transfer is handed over later", () => {
    expect(firstVerifyAt(NOON, NOON + SECOND_MS, VERIFY)).toBe(NOON + 10 * SECOND_MS);
    expect(firstVerifyAt(NOON, NOON + DAY_MS, VERIFY)).toBe(NOON + DAY_MS);
  });

  test("comes without an answer at each delay after the sending, and then repeatedly at the last delay", () => {
    const one = live(deposit(), settings({ giveUpAfter: "P7D" }));
    const asked: (number | null)[] = [];
    for (let i = 0; i < 7; i += 1) {
      asked.push(one.nextAfterMs());
      one.nothing("when due");
    }
    expect(asked).toEqual([10, 30, 120, 600, 3600, 7200, 10800].map((seconds) => seconds * SECOND_MS));
  });

  test("comes repeatedly at the last delay, also if that is shorter than an hour", () => {
    const one = live(deposit(), settings({ delays: ["PT1M", "PT5M"] }));
    const asked = Array.from({ length: 4 }, () => {
      one.nothing("when due");
      return one.nextAfterMs();
    });
    expect(asked).toEqual([5, 10, 15, 20].map((minutes) => minutes * MINUTE_MS));
  });

  test("comes after an hour, and then hourly, if the settings have no delays", () => {
    const one = live(deposit(), settings({ delays: [] }));
    expect(one.nextAfterMs()).toBe(HOUR_MS);
    one.nothing("when due");
    expect(one.nextAfterMs()).toBe(2 * HOUR_MS);
  });

  test("is never at the moment of the answer before it", () => {
    const one = live(deposit());
    one.nothing(29 * SECOND_MS);
    expect(one.nextAfterMs()).toBe(120 * SECOND_MS);
  });

  test("is not repeated for delays that passed while no worker asked", () => {
    const one = live(deposit());
    one.nothing(5 * MINUTE_MS);
    expect(one.nextAfterMs()).toBe(10 * MINUTE_MS);
  });

  test("comes after a pause even if the delays are zero", () => {
    const one = live(deposit(), settings({ delays: ["PT0S"] }));
    const { state } = one.nothing(MINUTE_MS);
    expect(state.nextVerifyAt).toBeGreaterThan(NOON + MINUTE_MS + SECOND_MS);
  });

  test("comes after a failure, at the later of the earliest final moment and the first delay after the failure", () => {
    const early = live(deposit());
    early.failed(10 * SECOND_MS);
    expect(early.nextAfterMs()).toBe(15 * MINUTE_MS);
    const late = live(deposit());
    late.failed(HOUR_MS);
    expect(late.nextAfterMs()).toBe(HOUR_MS + SECOND_MS + 10 * SECOND_MS);
  });

  test("is one attempt more, with or without an answer", () => {
    const one = live(deposit());
    one.nothing("when due");
    one.failed("when due");
    expect(one.failed("when due").state.attempts).toBe(3);
  });
});

describe("accepted", () => {
  test("is a transfer that the provider has booked just as it was sent: no question follows", () => {
    const { state, finding } = live(deposit()).booked("when due");
    expect(finding).toBeNull();
    expect(state).toMatchObject({
      status: "accepted",
      nextVerifyAt: null,
      decidedAt: NOON + 11 * SECOND_MS,
    });
  });

  test.each(["10", "10.00", "10.0000", "1e1"])("is a booking of %s for 10.00", (text) => {
    expect(live(deposit()).booked("when due", { amount: amount(text) }).state.status).toBe("accepted");
  });

  test("comes after failures too, while they are not final", () => {
    const one = live(deposit());
    one.failed("when due");
    const { state, finding } = one.booked("when due");
    expect([state.status, finding]).toEqual(["accepted", null]);
  });

  test("comes after an inconclusive time, and ends the mismatch", () => {
    const one = live(deposit());
    expect(one.nothing(DAY_MS).state).toMatchObject({
      status: "inconclusive",
      mismatchKind: "transfer-inconclusive",
    });
    const { state, finding } = one.booked("when due");
    expect([state.status, state.mismatchKind, finding]).toEqual(["accepted", null, null]);
  });
});

describe("booked differently", () => {
  const cases: [what: string, fields: Partial<Booking>, atRisk: string, reason: string][] = [
    ["another amount", { amount: amount("12.50") }, "2.5", "amount 12.5 instead of 10"],
    ["a smaller amount", { amount: amount("9.99") }, "0.01", "amount 9.99 instead of 10"],
    ["another player", { username: "bob" }, "10", "player bob instead of anna"],
    ["another product", { productId: "P2" }, "10", "product P2 instead of P1"],
    ["another currency", { currency: "USD" }, "10", "currency USD instead of THB"],
    [
      "another player and amount",
      { username: "bob", amount: amount("8") },
      "2",
      "player bob instead of anna, amount 8 instead of 10",
    ],
    ["a deposit booked as a negative one", { amount: amount("-10") }, "20", "amount -10 instead of 10"],
  ];

  test.each(cases)("%s: inconclusive at once, with the difference at risk", (_, fields, atRisk, reason) => {
    const { state, finding } = live(deposit()).booked("when due", fields);
    expect(state).toMatchObject({
      status: "inconclusive",
      decidedAt: null,
      mismatchKind: "transfer-differs",
    });
    if (finding === null || finding === "as-before") throw new Error("nothing was found");
    expect(finding).toMatchObject({
      kind: "transfer-differs",
      subject: "transfer:ref-1",
      transactionRef: "ref-1",
    });
    expect(finding.amountAtRisk.toFixed()).toBe(atRisk);
    expect(finding.reason).toBe(`the deposit of 10.00 THB is booked at the provider with ${reason}`);
  });

  test("a withdrawal with a negative amount is another amount: only a top-up's amount may be negative", () => {
    const { state, finding } = live(deposit({ type: "WITHDRAW" })).booked("when due", {
      amount: amount("-10"),
    });
    expect(state.mismatchKind).toBe("transfer-differs");
    expect(finding).toMatchObject({ amountAtRisk: amount("20") });
  });

  test("the worker asks every hour from then on", () => {
    const one = live(deposit());
    one.booked(10 * SECOND_MS, { username: "bob" });
    expect(one.nextAfterMs()).toBe(11 * SECOND_MS + HOUR_MS);
    one.nothing("when due");
    expect(one.nextAfterMs()).toBe(11 * SECOND_MS + 2 * HOUR_MS + SECOND_MS);
  });

  test("a missing answer leaves the earlier answer", () => {
    const one = live(deposit());
    one.booked("when due", { username: "bob" });
    const { state, finding } = one.nothing(2 * DAY_MS);
    expect([state.mismatchKind, finding]).toEqual(["transfer-differs", "as-before"]);
  });

  test("a missing answer about a top-up leaves the earlier answer too", () => {
    const one = live(topUp());
    one.booked("when due", { username: "bob" });
    const { state, finding } = one.nothing(2 * DAY_MS);
    expect([state.mismatchKind, finding]).toEqual(["top-up-differs", "as-before"]);
  });

  test("a later answer that agrees accepts the transfer", () => {
    const one = live(deposit());
    one.booked("when due", { username: "bob" });
    const { state, finding } = one.booked("when due");
    expect([state.status, state.mismatchKind, finding]).toEqual(["accepted", null, null]);
  });

  test("earlier failures do not count towards a later rejection", () => {
    const one = live(deposit());
    one.failed("when due");
    one.booked("when due", { username: "bob" });
    expect(one.failed("when due").state).toMatchObject({
      status: "inconclusive",
      mismatchKind: "transfer-differs",
    });
    const { state, finding } = one.failed("when due");
    expect([state.status, state.mismatchKind, finding]).toEqual(["rejected", null, null]);
  });
});

describe("rejected", () => {
  test("is a failure that is repeated late enough after the sending", () => {
    const one = live(deposit());
    expect(one.failed("when due").state).toMatchObject({ status: "pending", decidedAt: null });
    const { state, finding } = one.failed("when due");
    expect(finding).toBeNull();
    expect(state).toMatchObject({ status: "rejected", decidedAt: NOON + 15 * MINUTE_MS + SECOND_MS });
  });

  test("a failure that is repeated too early is not final", () => {
    const one = live(deposit());
    one.failed("when due");
    expect(one.failed(15 * MINUTE_MS - 1).state.status).toBe("pending");
    expect(one.failed(15 * MINUTE_MS).state.status).toBe("rejected");
  });

  test("needs the time of the first failure, however often the worker has asked since", () => {
    const one = live(deposit());
    one.failed(10 * SECOND_MS);
    expect(one.failed(20 * SECOND_MS).state.failedSince).toBe(NOON + 10 * SECOND_MS);
  });

  test("needs a second failure, however late the first one is", () => {
    const one = live(deposit());
    expect(one.failed(HOUR_MS).state.status).toBe("pending");
    expect(one.failed("when due").state.status).toBe("rejected");
  });

  test("counts the first failure although a question between the two had no answer", () => {
    const one = live(deposit());
    one.failed("when due");
    expect(one.nothing("when due").state.status).toBe("pending");
    expect(one.nextAfterMs()).toBe(HOUR_MS);
    expect(one.failed("when due").state.status).toBe("rejected");
  });

  test("comes after an inconclusive time too, and ends the mismatch", () => {
    const one = live(deposit());
    one.nothing(DAY_MS);
    expect(one.failed("when due")).toMatchObject({ finding: "as-before", state: { status: "inconclusive" } });
    const { state, finding } = one.failed("when due");
    expect([state.status, state.mismatchKind, finding]).toEqual(["rejected", null, null]);
  });

  test("is rechecked after an hour and after a day, and then no more", () => {
    const one = rejected();
    const at = 15 * MINUTE_MS + SECOND_MS;
    expect(one.nextAfterMs()).toBe(at + HOUR_MS);
    expect(one.failed("when due").state.status).toBe("rejected");
    expect(one.nextAfterMs()).toBe(at + DAY_MS);
    const { state } = one.failed("when due");
    expect(state).toMatchObject({ status: "rejected", nextVerifyAt: null, decidedAt: NOON + at });
  });

  test("is rechecked again where the next recheck became due while the one before waited for its answer", () => {
    const one = live(deposit(), settings({ recheckRejectedAfter: ["PT1H", "PT1H0.5S"] }));
    one.failed("when due");
    one.failed("when due");
    expect(one.failed("when due").state.nextVerifyAt).not.toBeNull();
    expect(one.failed("when due").state.nextVerifyAt).toBeNull();
  });

  test("needs only one recheck if that comes too late for both", () => {
    const one = rejected();
    expect(one.failed(3 * DAY_MS).state.nextVerifyAt).toBeNull();
  });

  test("stays through a recheck without an answer, which is repeated by the delays and makes nothing inconclusive", () => {
    const one = rejected();
    const { state, finding } = one.nothing("when due");
    expect([state.status, finding]).toEqual(["rejected", "as-before"]);
    expect(one.nextAfterMs()).toBe(2 * HOUR_MS);
    expect(one.nothing(3 * DAY_MS).state.status).toBe("rejected");
  });

  test("has its next recheck at its time although the last one had no answer", () => {
    const one = rejected();
    one.failed("when due");
    one.nothing(DAY_MS);
    expect(one.nextAfterMs()).toBe(DAY_MS + 15 * MINUTE_MS + SECOND_MS);
  });

  test("becomes accepted by a later success, with a mismatch of the whole amount", () => {
    const one = rejected();
    const { state, finding } = one.booked("when due");
    expect(state).toMatchObject({
      status: "accepted",
      nextVerifyAt: null,
      mismatchKind: "transfer-late-success",
    });
    expect(finding).toMatchObject({
      kind: "transfer-late-success",
      reason:
        "the deposit of 10.00 THB was rejected at 2026-11-20 12:15:01Z, but the provider booked it after all",
    });
    if (finding !== null && finding !== "as-before") expect(finding.amountAtRisk.toFixed()).toBe("10");
  });

  test("becomes a mismatch by a success with other values, which is a late success once it agrees", () => {
    const one = rejected();
    expect(one.booked("when due", { username: "bob" }).state).toMatchObject({
      status: "inconclusive",
      mismatchKind: "transfer-differs",
    });
    expect(one.booked("when due").state).toMatchObject({
      status: "accepted",
      mismatchKind: "transfer-late-success",
    });
  });

  function rejected() {
    const one = live(deposit());
    one.failed("when due");
    one.failed("when due");
    expect(one.state().status).toBe("rejected");
    return one;
  }
});

describe("inconclusive", () => {
  test("begins a day after the handing over, not before", () => {
    const before = live(deposit()).nothing(DAY_MS - 2 * SECOND_MS);
    expect([before.state.status, before.finding]).toEqual(["pending", "as-before"]);
    expect(live(deposit()).nothing(DAY_MS - SECOND_MS).state.status).toBe("inconclusive");
  });

  test("is a transfer without a certain answer for a day after it was handed over, whatever the delays are", () => {
    const handedAt = NOON + 5 * SECOND_MS;
    const one = live(deposit(), VERIFY, handedAt);
    while (one.state().status === "pending") one.nothing("when due");
    expect(one.state()).toMatchObject({ attempts: 29, decidedAt: null });
    expect(one.nextAfterMs()).toBe(DAY_MS + 5 * SECOND_MS + SECOND_MS + HOUR_MS);
  });

  test("is counted from the handing over, also for a transfer that was sent long ago", () => {
    const one = live(deposit({ sentAt: NOON - 9 * DAY_MS }));
    expect(one.nothing(10 * SECOND_MS).state.status).toBe("pending");
  });

  test("has the whole amount at risk, and says since when and how often the worker asked", () => {
    const { finding } = live(deposit({ type: "WITHDRAW" })).nothing(DAY_MS);
    expect(finding).toMatchObject({
      kind: "transfer-inconclusive",
      subject: "transfer:ref-1",
      provider: null,
      ledger: { status: "WITHDRAW", amount: "10", currency: "THB", username: "anna", productId: "P1" },
      occurredAt: NOON,
      reason: expect.stringMatching(
        /^the outcome of the withdrawal of 10\.00 THB is unknown: .* since 2026-11-20 12:00:00Z, asked once$/,
      ),
    });
    if (finding !== null && finding !== "as-before") expect(finding.amountAtRisk.toFixed()).toBe("10");
  });

  test("is asked about every hour, and stays the same mismatch", () => {
    const one = live(deposit());
    one.nothing(DAY_MS);
    for (let hours = 1; hours < 50; hours += 1) {
      const { state, finding } = one.nothing("when due");
      expect([state.status, finding]).toEqual([
        "inconclusive",
        expect.objectContaining({ kind: "transfer-inconclusive" }),
      ]);
    }
    expect(one.nextAfterMs()).toBe(DAY_MS + 50 * (HOUR_MS + SECOND_MS));
  });
});

describe("top-ups", () => {
  test("a debit is booked as a top-up, a credit as a withdrawal, with either sign", () => {
    const credit = topUp({ type: "CREDIT" });
    expect(live(topUp()).booked("when due", { ...UNSAID, type: "DEBIT" }).state.status).toBe("accepted");
    const negative = { ...UNSAID, type: "CREDIT", amount: amount("-10") };
    expect(live(credit).booked("when due", negative).state.status).toBe("accepted");
  });

  test.each<[what: string, fields: Partial<Booking>, atRisk: string]>([
    ["another amount", { amount: amount("7") }, "3"],
    ["another player", { username: "bob" }, "10"],
    ["another id", { transactionRef: "ref-2" }, "10"],
    ["the other direction", { type: "CREDIT" }, "10"],
  ])("%s differs", (_, fields, atRisk) => {
    const { state, finding } = live(topUp()).booked("when due", { ...UNSAID, type: "DEBIT", ...fields });
    expect(state).toMatchObject({ status: "inconclusive", mismatchKind: "top-up-differs" });
    expect(finding).toMatchObject({
      subject: "top-up:ref-1",
      transactionRef: "ref-1",
      transactionId: "ref-1",
    });
    if (finding !== null && finding !== "as-before") expect(finding.amountAtRisk.toFixed()).toBe(atRisk);
  });

  test("a rejection must be repeated as late as that of a transfer, and is a mismatch of the amount", () => {
    const one = live(topUp());
    expect(one.failed("when due")).toMatchObject({ finding: "as-before", state: { status: "pending" } });
    const { state, finding } = one.failed("when due");
    expect(state).toMatchObject({ status: "rejected", mismatchKind: "top-up-rejected" });
    expect(finding).toMatchObject({ kind: "top-up-rejected", provider: { status: "failed" } });
    if (finding !== null && finding !== "as-before") expect(finding.amountAtRisk.toFixed()).toBe("10");
  });

  test("a rejection stays through rechecks that confirm it or have no answer, and ends with a success", () => {
    const one = live(topUp());
    one.failed("when due");
    one.failed("when due");
    expect(one.failed("when due").state.mismatchKind).toBe("top-up-rejected");
    expect(one.nothing("when due").state.mismatchKind).toBe("top-up-rejected");
    const { state, finding } = one.booked("when due");
    expect(state).toMatchObject({ status: "accepted", mismatchKind: "top-up-late-success" });
    expect(finding).toMatchObject({
      kind: "top-up-late-success",
      subject: "top-up:ref-1",
      provider: { status: "booked" },
      reason: expect.stringMatching(/was rejected at .* but the provider booked it after all/),
    });
  });

  test("without a certain answer for a day a top-up is inconclusive", () => {
    expect(live(topUp()).nothing(DAY_MS).state.mismatchKind).toBe("top-up-inconclusive");
  });

  const UNSAID = { productId: null, currency: null };
});
