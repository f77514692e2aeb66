import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { actOnMismatches, type RequestedAction } from "../../src/flows/mismatches/act-on-mismatches.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { createTestClock } from "../support/clock.ts";
import { useDashboard } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";
import { openMismatches, readStatuses } from "../support/open-mismatches.ts";

const { sql } = useDatabase();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };
const EVIL = "<img src=x onerror=alert(1)>";

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const open = (...fields: Partial<MismatchContent>[]) =>
  openMismatches(
    sql,
    config,
    clock.now(),
    fields.map((one, index) => ({ betId: `bet-${clock.now()}-${index}`, ...one })),
  );
const act = (action: RequestedAction["action"], ...ids: string[]) =>
  actOnMismatches(context, {
    action,
    target: { ids },
    note: "from elsewhere",
    by: "anna",
    expected: null,
    adjustment: null,
  });
const statuses = () => readStatuses(sql);

interface PageAnswer {
  readonly status: number;
  readonly html: string;
  readonly location: string | null;
  /** sent with the next request */
  readonly cookie: string;
}

/** A visitor without scripts, who uses only links and forms. */
async function visit() {
  const baseUrl = await serveDashboard(context);
  return async (path: string, form?: Record<string, string | string[]>, cookie = ""): Promise<PageAnswer> => {
    const fields = Object.entries(form ?? {}).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    const response = await fetch(baseUrl + path, {
      redirect: "manual",
      headers: { accept: "text/html", cookie },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(fields) }),
    });
    return {
      status: response.status,
      html: await response.text(),
      location: response.headers.get("location"),
      cookie: response.headers
        .getSetCookie()
        .map((one) => one.split(";")[0])
        .join("; "),
    };
  };
}

test("the pages of a mismatch and of its incident say how much to give or to take back, and from whom", async () => {
  const won = { stake: "100", payout: "3100", moved: "3000" };
  const ledger = { ...LEDGER_SIDE, username: "player-014", ...won };
  const kind = "missing-at-provider";
  await open({ kind, username: "player-014", amountAtRisk: amount("3000"), provider: null, ledger });
  const ask = await visit();
  const advice = "If the bet was never played there, take 3\u202f000.00 THB back from player-014.";
  for (const path of ["/mismatches/1", "/incidents/1"]) expect((await ask(path)).html).toContain(advice);
});

const idsOf = (html: string) => [...html.matchAll(/<tr id="m(\d+)">/g)].map(([, id]) => id).join(" ");
const fieldOf = (html: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? "";
const noticeOf = (html: string) =>
  /<div id="notice" role="status">(?:<div class="notice \w+"><p>(.*?)<\/p>)?/s
    .exec(html)?.[1]
    ?.replace(/&quot;/g, '"') ?? null;
const sumsOf = (html: string) =>
  /<strong>(.*?)<\/strong>(.*?)<\/p>/s
    .exec(html)
    ?.slice(1)
    .join("")
    .replace(/<[^>]+>/g, "") ?? "";

describe("the list", () => {
  test("is filtered and sorted by its address, with the number of mismatches and their money", async () => {
    await open({ amountAtRisk: amount("1.5") }, { amountAtRisk: amount("20") }, { kind: "stake-differs" });
    clock.advance(HOUR_MS);
    await open({ productId: "P2", currency: "USD", amountAtRisk: amount("0.10") }, { username: EVIL });
    await act("ack", "2");
    await act("ignore", "3");
    const go = await visit();
    const list = async (query: string) => {
      const { html } = await go(`/mismatches${query}`);
      return `${idsOf(html)} | ${sumsOf(html)}`;
    };
    expect(await list("")).toBe("5 4 2 1 | 4 mismatches with 26.00 THB and 0.10 USD at risk");
    expect(await list("?sort=at-risk")).toMatch(/^2 5 1 4 /);
    expect(await list("?sort=-at-risk")).toMatch(/^4 1 5 2 /);
    expect(await list("?sort=-first-seen&status=open")).toMatch(/^1 4 5 /);
    expect(await list("?product=P2")).toBe("4 | 1 mismatch with 0.10 USD at risk");
    expect(await list("?status=ignored")).toMatch(/^3 /);
    expect(await list("?status=open,acknowledged,resolved,ignored&kind=stake-differs")).toMatch(/^3 /);
    expect(await list(`?username=${encodeURIComponent(EVIL)}`)).toMatch(/^5 /);
    expect(await list("?minAmount=4.51")).toMatch(/^2 /);
    expect(await list("?from=2026-11-20T12:30:00Z")).toMatch(/^5 4 /);
    expect(await list("?to=2026-11-20T19:30:00%2B07:00&sort=-happened")).toMatch(/^1 2 /);
    expect(await list("?happenedTo=2000-01-01T00:00:00Z")).toBe(" | 0 mismatches");
    expect(await list("?happenedFrom=2000-01-01T00:00:00Z")).toMatch(/^5 4 2 1 /);
    expect(await list("?kind=stuck-open")).toBe(" | 0 mismatches");
  });

  test("that a statement's row links to has its mismatches alone, whose effects add up to what the row says", async () => {
    const play = async (bet: string, { at, paid, listed }: { at: number; paid: string; listed: string }) => {
      const of = { txnId: bet, roundId: bet, occurredAt: at, receivedAt: at };
      const payoutAmount = amount(paid);
      await appendEntries(sql, [
        exampleEntry(of),
        exampleSettle({ ...of, occurredAt: at + 1, payoutAmount }),
      ]);
      const date = new Date(at).toISOString();
      const ids = { id: bet, betId: bet, roundId: bet, accountingDate: date, updatedDate: date };
      const record = exampleRecord({ ...ids, payout: amount(listed) });
      const times = { requestedAt: at + HOUR_MS, now: at + HOUR_MS };
      await sql.begin((tx) => writeRecords(tx, "P1", [record], times));
    };
    // Nothing before the first entry is compared.
    await play("first", { at: NOON - 72 * HOUR_MS, paid: "0", listed: "0" });
    const found = async (betId: string, at: number, paid: string, listed: string) => {
      await play(betId, { at, paid, listed });
      const [moved, difference] = [amount(paid).minus("10"), amount(paid).minus(listed)];
      const provider = { ...PROVIDER_SIDE, payout: listed, accountingDate: new Date(at).toISOString() };
      const ledger = { ...LEDGER_SIDE, payout: paid, moved: moved.toFixed() };
      await open({ betId, roundId: betId, provider, ledger, amountAtRisk: difference.abs() });
    };
    await found("too-much", NOON, "3100", "100");
    await found("too-little", NOON + HOUR_MS, "0", "100");
    await found("next-day", NOON + 24 * HOUR_MS, "0", "800");
    clock.set(NOON + 48 * HOUR_MS);
    const go = await visit();
    const statement = (await go("/report?day=2026-11-20")).html;
    expect(statement).toMatch(/-2\u202f900\.00 THB<\/span> by <a href="\/mismatches\?/);
    const [, link = ""] = /href="(\/mismatches\?[^"]*)">mismatches/.exec(statement) ?? [];
    const { html } = await go(link.replace(/&amp;/g, "&"));
    expect(idsOf(html).split(" ").sort()).toEqual(["1", "2"]);
    expect(sumsOf(html)).toBe(
      "2 mismatches with 3\u202f100.00 THB at risk; effects in all 2\u202f900.00 THB, which the statement of 2026-11-20 counts with the other sign",
    );
    expect(html).toMatch(/-100\.00 THB<\/span>/);
    const elsewhere = (await go("/report?day=2026-11-20&zone=Asia/Bangkok")).html;
    expect(elsewhere).toMatch(/href="\/mismatches\?(?![^"]*day=)[^"]*">mismatches/);
  });

  test("shows the filter in its form, and keeps the filter in every link", async () => {
    await open(...Array.from({ length: 101 }, () => ({ username: EVIL })));
    const go = await visit();
    const query = `kind=payout-differs&username=${new URLSearchParams({ u: EVIL }).toString().slice(2)}&minAmount=1`;
    const { html } = await go(`/mismatches?${query}&sort=happened`);
    expect(html).toContain('<option value="payout-differs" selected>');
    expect(fieldOf(html, "username")).toBe("&lt;img src=x onerror=alert(1)&gt;");
    expect(fieldOf(html, "minAmount")).toBe("1");
    expect(fieldOf(html, "sort")).toBe("happened");
    const links = [...html.matchAll(/(?:href|action)="(\/mismatches[^"/]*)"/g)].map(([, link]) =>
      link?.replace(/&amp;/g, "&"),
    );
    const shared = links.filter((link) => link !== "/mismatches");
    // The CSV, the form, three heads of columns, the next page.
    expect(shared).toHaveLength(6);
    for (const link of shared) expect(link).toContain(query);
    expect(html).not.toContain("<img");
  });

  test("has an address that can be shared: without empty fields, with times that have an offset", async () => {
    const go = await visit();
    const typed = "product=&kind=&status=open&username=+&minAmount=&from=2026-11-20T12%3A00&to=";
    const { status, location } = await go(`/mismatches?${typed}`);
    expect({ status, location }).toEqual({
      status: 303,
      location: "/mismatches?status=open&from=2026-11-20T12%3A00Z",
    });
    const { html } = await go(location ?? "");
    expect(html).toMatch(/name="from" value="2026-11-20T12:00" type="datetime-local"/);
  });

  test.each([
    ["kind=lost", 'there is no kind "lost"'],
    ["status=closed", 'there is no status "closed"'],
    ["product=%3Cb%3E", 'there is no product "<b>"; it is one of P1, P2'],
    ["from=yesterday", '“First seen from” must be a time such as 2026-11-20 10:00, but is "yesterday"'],
    ["minAmount=much", '“At risk, at least” must be a decimal number, but is "much"'],
    ["sort=username", "sort must be one of first-seen, at-risk, happened"],
    ["sort=at-risk&after=soon", 'after "soon" is not a position in the list by at-risk'],
    ["before=12~3", 'before "12~3" is not a position in the list by first-seen'],
    ["after=2026-11-20T12:00:00Z~1&before=2026-11-20T12:00:00Z~1", "give either after or before"],
    ["colour=red", 'there is no field "colour"'],
    ["kind=net-differs&kind=stuck-open", "“Kind” is given more than once"],
    ["username=a%00", "“Player” has a character"],
  ])("with the wrong filter %s says what is wrong, and keeps the form", async (query, problem) => {
    const go = await visit();
    const { status, html } = await go(`/mismatches?username=anna&${query}`.replace("anna&username", "anna"));
    expect(status).toBe(400);
    const message = /role="alert"[^>]*>(.*?)<\/p>/s
      .exec(html)?.[1]
      ?.replace(/&quot;/g, '"')
      .replace(/&lt;/g, "<")
      .replace(/&gt;/g, ">");
    expect(message).toContain(problem);
    if (!query.startsWith("username")) expect(fieldOf(html, "username")).toBe("anna");
  });

  test("has pages, forward and back, in its order", async () => {
    await open(...Array.from({ length: 250 }, (_, index) => ({ amountAtRisk: amount(String(index % 7)) })));
    const go = await visit();
    const link = (html: string, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]+)"`).exec(html)?.[1]?.replace(/&amp;/g, "&");
    const pages: string[] = [];
    let path: string | undefined = "/mismatches?sort=at-risk";
    let last = "";
    while (path !== undefined) {
      const { html } = await go(path);
      pages.push(idsOf(html));
      last = html;
      path = link(html, "next");
    }
    expect(pages.map((page) => page.split(" ").length)).toEqual([100, 100, 50]);
    const rows = await sql<{ id: number }[]>`select id from mismatches order by amount_at_risk desc, id desc`;
    expect(pages.join(" ")).toBe(rows.map(({ id }) => id).join(" "));
    const second = (await go(link(last, "prev") ?? "")).html;
    expect(idsOf(second)).toBe(pages[1]);
    const first = (await go(link(second, "prev") ?? "")).html;
    expect(idsOf(first)).toBe(pages[0]);
    expect(link(first, "prev")).toBeUndefined();
  });

  test("is downloaded as CSV: all matching mismatches, with harmless formulas, without HTML escapes", async () => {
    await open(
      ...Array.from({ length: 120 }, () => ({})),
      { username: EVIL, kind: "stake-differs" },
      { username: "=1+1", kind: "stake-differs" },
    );
    const baseUrl = await serveDashboard(context);
    const csv = async (query: string) => {
      const response = await fetch(`${baseUrl}/mismatches.csv${query}`, { headers: { accept: "text/html" } });
      expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
      return (await response.text()).trimEnd().split("\n");
    };
    expect(await csv("")).toHaveLength(1 + 122);
    const [, evil, formula] = await csv("?kind=stake-differs&sort=at-risk");
    expect(evil).toContain(EVIL);
    expect(formula).toContain("'=1+1");
  });
});

describe("an action on the selected mismatches", () => {
  test("is done, is reported once with its money, and can be undone", async () => {
    await open({}, { currency: "USD" }, {});
    const go = await visit();
    const form = { id: ["1:open", "2:open"], action: "ignore", note: "too small", scope: "" };
    const done = await go("/mismatches?product=P1&sort=-happened", form);
    expect(done).toMatchObject({ status: 303, location: "/mismatches?product=P1&sort=-happened" });
    expect(await statuses()).toBe("ignored ignored open");
    const { html, cookie } = await go(done.location ?? "", undefined, done.cookie);
    expect(noticeOf(html)).toBe("2 mismatches ignored: 4.50 THB and 4.50 USD at risk.");
    expect(cookie).toBe("recon_notice=");
    const undone = await go("/mismatches/undo", {
      step: fieldOf(html, "step"),
      back: fieldOf(html, "back").replace(/&amp;/g, "&"),
    });
    expect(undone).toMatchObject({ status: 303, location: "/mismatches?product=P1&sort=-happened" });
    expect(await statuses()).toBe("open open open");
    const next = await go("/mismatches", undefined, undone.cookie);
    expect(noticeOf(next.html)).toBe("Undone: 2 mismatches are as before.");
    expect(next.html).not.toContain("/mismatches/undo");
  });

  test("leaves what another user changed before the undo, and says so", async () => {
    await open({}, {});
    const go = await visit();
    const done = await go("/mismatches", { id: ["1:open", "2:open"], action: "ack", note: "looking" });
    const { html } = await go("/mismatches", undefined, done.cookie);
    await act("resolve", "2");
    const undone = await go("/mismatches/undo", {
      step: fieldOf(html, "step"),
      back: "//elsewhere.example/",
    });
    expect(undone.location).toBe("/");
    const next = await go("/mismatches", undefined, undone.cookie);
    expect(noticeOf(next.html)).toBe(
      "Undone: 1 mismatch is as before. 1 mismatch stayed unchanged, because another user changed it since: #2.",
    );
    expect(await statuses()).toBe("open resolved");
  });

  test("skips mismatches whose seen state does not allow the action", async () => {
    await open({}, {}, {});
    await act("ack", "2");
    const go = await visit();
    const done = await go("/mismatches", {
      id: ["1:open", "2:acknowledged", "3:open"],
      action: "ack",
      note: "looking",
    });
    const { html } = await go("/mismatches", undefined, done.cookie);
    expect(noticeOf(html)).toBe(
      "2 mismatches acknowledged: 9.00 THB at risk. 1 is acknowledged, so it cannot be acknowledged.",
    );
  });

  test.each<[string, Record<string, string | string[]>, number, string]>([
    [
      "somebody else was faster",
      { id: ["1:open", "2:open"], action: "ack", note: "my <b>note</b>" },
      409,
      "mismatch 2 is resolved (by anna): it cannot be acknowledged; nothing was changed",
    ],
    ["nothing is selected", { action: "ack", note: "my <b>note</b>" }, 400, "no mismatch is selected"],
    [
      "no mismatch allows the action",
      { id: "2:resolved", action: "ignore", note: "my <b>note</b>" },
      400,
      "1 is resolved, so it cannot be ignored",
    ],
    ["the note is empty", { id: "1:open", action: "ignore", note: " " }, 400, "note is empty"],
    [
      "one is gone",
      { id: ["1:open", "77:open"], action: "ack", note: "my <b>note</b>" },
      404,
      'there is no mismatch "77"',
    ],
  ])("is refused if %s, and the page keeps input and selection", async (_, form, status, problem) => {
    await open({}, {});
    await act("resolve", "2");
    const go = await visit();
    const answer = await go("/mismatches?status=open,resolved", form);
    expect(answer.status).toBe(status);
    expect(noticeOf(answer.html)).toContain(`Not done: ${problem}`);
    if (String(form["note"]).trim() !== "")
      expect(answer.html).toContain("my &lt;b&gt;note&lt;/b&gt;</textarea>");
    const checked = [...answer.html.matchAll(/value="(\d+:\w+)"[^>]* checked>/g)].map(([, value]) => value);
    expect(checked).toHaveLength([form["id"] ?? []].flat().filter((id) => !id.startsWith("77")).length);
    expect(await statuses()).toBe("open resolved");
  });

  test.each<[string, Record<string, string | string[]>]>([
    ["an unknown action", { id: "1:open", action: "close", note: "x" }],
    ["a malformed id", { id: "1", action: "ack", note: "x" }],
    ["an unknown status", { id: "1:gone", action: "ack", note: "x" }],
    ["an unknown field", { id: "1:open", action: "ack", note: "x", by: "somebody" }],
    ["two notes", { id: "1:open", action: "ack", note: ["x", "y"] }],
  ])("that none of our forms sends, with %s, is refused", async (_, form) => {
    await open({});
    const go = await visit();
    expect((await go("/mismatches", form)).status).toBe(400);
    expect(await statuses()).toBe("open");
  });
});

describe("an action on all matching mismatches", () => {
  const all = { scope: "all", action: "ignore", note: "known fault" };

  test("is first shown with count and money, and done when it is confirmed", async () => {
    await open({}, { currency: "USD" }, { productId: "P2" });
    const go = await visit();
    const shown = await go("/mismatches?product=P1", all);
    expect(shown.status).toBe(200);
    expect(shown.html).toContain("<h1>Ignore 2 mismatches?</h1>");
    expect(shown.html).toContain("product <strong>P1</strong>");
    expect(shown.html).toMatch(/THB.*>4\.50<.*USD.*>4\.50</s);
    expect(shown.html).toContain("known fault</textarea>");
    expect(await statuses()).toBe("open open open");
    const done = await go("/mismatches?product=P1", { ...all, shown: fieldOf(shown.html, "shown") });
    expect(done).toMatchObject({ status: 303, location: "/mismatches?product=P1" });
    expect(await statuses()).toBe("ignored ignored open");
    const { html } = await go("/mismatches", undefined, done.cookie);
    await go("/mismatches/undo", { step: fieldOf(html, "step"), back: "/mismatches" });
    expect(await statuses()).toBe("open open open");
  });

  test("is not done if other mismatches match at the confirmation: the page shows the present matches, and keeps the note", async () => {
    await open({});
    const go = await visit();
    const shown = await go("/mismatches", all);
    await open({ betId: "late" });
    const refused = await go("/mismatches", {
      ...all,
      note: "my last word",
      shown: fieldOf(shown.html, "shown"),
    });
    expect(refused.status).toBe(409);
    expect(noticeOf(refused.html)).toContain(
      "the filter now matches other mismatches than those shown: nothing was changed",
    );
    expect(refused.html).toContain("<h1>Ignore 2 mismatches?</h1>");
    expect(refused.html).toContain("my last word</textarea>");
    expect(await statuses()).toBe("open open");
    await go("/mismatches", { ...all, shown: fieldOf(refused.html, "shown") });
    expect(await statuses()).toBe("ignored ignored");
  });

  test("that no mismatch allows says so, and shows the note again", async () => {
    const go = await visit();
    const { html } = await go("/mismatches?status=resolved", all);
    expect(html).toContain("No matching mismatch can be ignored now.");
    expect(html).toMatch(/Your note, which is not saved.*known fault/s);
  });
});

describe("one mismatch", () => {
  test("is decided with a note, and the decision can be undone", async () => {
    await open({});
    const go = await visit();
    const done = await go("/mismatches/1", {
      action: "ack",
      from: "open",
      note: "asked the provider",
      adjustment: "",
      ref: "",
    });
    expect(done).toMatchObject({ status: 303, location: "/mismatches/1" });
    const { html } = await go("/mismatches/1", undefined, done.cookie);
    expect(html).toContain("<title>payout-differs in P1, 4.50 THB, acknowledged · wallet-recon</title>");
    expect(noticeOf(html)).toBe("Mismatch #1 acknowledged: 4.50 THB at risk.");
    expect(html).toContain("asked the provider</td>");
    const undone = await go("/mismatches/undo", { step: fieldOf(html, "step"), back: fieldOf(html, "back") });
    expect(undone.location).toBe("/mismatches/1");
    expect(await statuses()).toBe("open");
  });

  test("is resolved with an adjustment, which moves money and cannot be undone", async () => {
    await open({});
    const go = await visit();
    const done = await go("/mismatches/1", {
      action: "resolve",
      from: "open",
      note: "paid by hand",
      adjustment: "4.50",
      ref: "R-1",
    });
    const { html } = await go("/mismatches/1", undefined, done.cookie);
    expect(noticeOf(html)).toContain(
      "Its correction of 4.50 (R-1) cannot be undone here, because it moved money",
    );
    expect(html).not.toContain("/mismatches/undo");
    expect(html).toMatch(/local gave the player .*4\.50 THB.*\(R-1\).*paid by hand/s);
  });

  test.each<[string, Record<string, string>, number, string]>([
    [
      "somebody else has decided meanwhile",
      { action: "resolve", from: "open" },
      409,
      "mismatch 1 is acknowledged: it is no longer open; read it again before you decide",
    ],
    [
      "an adjustment comes without a reference",
      { action: "resolve", from: "acknowledged", adjustment: "4.50" },
      400,
      "“Your reference” is missing",
    ],
    [
      "an adjustment is no amount",
      { action: "resolve", from: "acknowledged", adjustment: "4,50", ref: "R" },
      400,
      '“Amount” must be a decimal number, but is "4,50"',
    ],
    [
      "an adjustment comes with another action",
      { action: "ignore", from: "acknowledged", adjustment: "4.50", ref: "R" },
      400,
      "only a resolution can have a correction",
    ],
  ])("stays as it is where %s, and the page keeps the input", async (_, form, status, problem) => {
    await open({});
    await act("ack", "1");
    const go = await visit();
    const answer = await go("/mismatches/1", { note: "what I found out", ...form });
    expect(answer.status).toBe(status);
    expect(noticeOf(answer.html)).toContain(`Not done: ${problem}`);
    expect(answer.html).toContain("what I found out</textarea>");
    if (problem.includes("decimal")) {
      expect(answer.html).toMatch(
        /name="adjustment"[^>]* aria-invalid="true".*?<p class="problem"[^>]*>“Amount in THB” must be a decimal number/s,
      );
    }
    expect(fieldOf(answer.html, "adjustment")).toBe(form["adjustment"] ?? "");
    expect(fieldOf(answer.html, "ref")).toBe(form["ref"] ?? "");
    // The next decision is about the state that the page shows now.
    expect(fieldOf(answer.html, "from")).toBe("acknowledged");
    expect(await statuses()).toBe("acknowledged");
  });

  test("names every wrong field of a correction at once, next to the field, and keeps what was typed", async () => {
    await open({});
    const go = await visit();
    const typed = { action: "resolve", from: "open", note: " ", adjustment: "40,00", ref: "" };
    const { status, html } = await go("/mismatches/1", typed);
    expect(status).toBe(400);
    const wrong = (name: string, words: string) =>
      new RegExp(`name="${name}"[^>]* aria-invalid="true"[^>]*>[^]{0,80}<p class="problem"[^>]*>${words}`);
    expect(html).toMatch(wrong("note", "“Note” is empty"));
    expect(html).toMatch(wrong("adjustment", "“Amount in THB” must be a decimal number, but is"));
    expect(html).toMatch(wrong("ref", "“Your reference” is missing"));
    expect(fieldOf(html, "adjustment")).toBe("40,00");
    const ignored = await go("/mismatches/1", { ...typed, action: "ignore", note: "x", adjustment: "4.50" });
    expect(ignored.html).toMatch(wrong("adjustment", "only a resolution can have a correction"));
    expect(await statuses()).toBe("open");
  });

  test("of a transfer or a top-up links to the answers", async () => {
    const sides = { provider: null, ledger: null, roundId: null };
    await open(
      { kind: "transfer-inconclusive", transactionRef: "T/1", ...sides },
      { kind: "top-up-rejected", transactionRef: "U-1", ...sides },
    );
    const go = await visit();
    expect((await go("/mismatches/1")).html).toContain('href="/transfers/T%2F1">T/1</a>');
    const query = "kind=top-up&amp;product=P1&amp;username=anna";
    expect((await go("/mismatches/2")).html).toContain(`href="/transfers/U-1?${query}">U-1</a>`);
  });

  test("that does not exist has a page that says so", async () => {
    const go = await visit();
    for (const id of ["7", "x", "%3Cb%3E"]) {
      const { status, html } = await go(`/mismatches/${id}`);
      expect(status).toBe(404);
      expect(html).toContain("there is no mismatch");
      expect(html).not.toContain("<b>");
      expect((await go(`/mismatches/${id}`, { action: "ack", from: "open", note: "x" })).status).toBe(404);
    }
  });
});

describe("owner, ticket and reminder", () => {
  const caseOf = (html: string) =>
    /id="case-head">.*?<p>(.*?)<\/p>/s.exec(html)?.[1]?.replace(/<[^>]+>/g, "") ?? null;

  test("are set on the page of a mismatch and of an incident, in the time of the visitor", async () => {
    await open({}, {});
    const go = await visit();
    for (const path of ["/mismatches/1", "/incidents/1"]) {
      expect(caseOf((await go(path)).html)).toBe("nobody");
      expect(await go(`${path}/assign`, { owner: "me" })).toMatchObject({
        status: 303,
        location: `${path}#case-head`,
      });
      await go(`${path}/ticket`, { ticket: "PRV-12", withProvider: "true" });
      await go(`${path}/remind`, { remindAt: "2026-11-20 20:00" }, "recon_zone=Asia/Bangkok");
      expect(caseOf((await go(path)).html)).toBe(
        "local, ticket PRV-12, with the provider since 2026-11-20 12:00:00, reminder 2026-11-20 13:00:00",
      );
      const refused = await go(`${path}/remind`, { remindAt: "soon" });
      expect(refused.status).toBe(400);
      expect(refused.html).toContain("“Remind” must be a time such as 2026-11-20 10:00, but is");
      expect(refused.html).toContain('name="remindAt" value="soon"');
      await go(`${path}/assign`, { owner: "" });
      await go(`${path}/ticket`, { ticket: "" });
      expect(caseOf((await go(path)).html)).toBe("nobody, reminder 2026-11-20 13:00:00");
    }
    clock.advance(HOUR_MS);
    expect(caseOf((await go("/mismatches/1")).html)).toBe("nobody, reminder 2026-11-20 13:00:00 due");
    expect(idsOf((await go("/mismatches?due=true")).html)).toBe("1");
  });

  test("of selected ones are taken in one click, and of all that match after they were counted", async () => {
    await open({}, {}, { productId: "P2" });
    const go = await visit();
    const taken = await go("/mismatches", { action: "assign-me", id: ["1:open", "3:open"], note: "" });
    expect(noticeOf((await go("/mismatches", undefined, taken.cookie)).html)).toBe("2 mismatches changed.");
    expect(idsOf((await go("/mismatches?owner=me")).html)).toBe("3 1");
    const asked = await go("/mismatches?owner=me", { action: "case", scope: "all", note: "" });
    expect(asked.html).toContain("Owner, ticket and reminder of 2 mismatches");
    const shown = fieldOf(asked.html, "shown");
    const hand = { action: "assign", scope: "all", shown, owner: "tom" };
    await act("resolve", "1");
    const refused = await go("/mismatches?owner=me", hand);
    expect([refused.status, refused.html.includes("matches other mismatches than those shown")]).toEqual([
      409,
      true,
    ]);
    expect(
      (await go("/mismatches?owner=me", { ...hand, shown: fieldOf(refused.html, "shown") })).status,
    ).toBe(303);
    expect(await sql`select id, owner from mismatches where owner is not null order by id`).toEqual([
      { id: 1, owner: "local" },
      { id: 3, owner: "tom" },
    ]);
    const none = await go("/mismatches", { action: "assign-me", note: "" });
    expect([none.status, noticeOf(none.html)]).toEqual([400, "Not done: no mismatch is selected."]);
  });

  test("that a visitor typed show as text, never as markup", async () => {
    await open({});
    const go = await visit();
    await go("/mismatches/1/assign", { owner: EVIL });
    await go("/mismatches/1/ticket", { ticket: EVIL });
    for (const path of ["/mismatches/1", "/mismatches", "/incidents"]) {
      expect((await go(path)).html).not.toContain(EVIL);
    }
  });
});
