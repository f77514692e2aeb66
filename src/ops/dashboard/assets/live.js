/**
 * Brings a page up to date without a reload: the server reports a change of one of the page's topics, and the script
 * fetches the page again and exchanges only what differs. What the visitor types, selects or has opened stays.
 */

import { DATABASE_SILENT, WORKER_SILENT, watchFreshness } from "./freshness.js";
import { Idiomorph } from "./idiomorph.js";

/** Changes come in bursts; a page is fetched this often at the most. */
const SHORTEST_PAUSE_MS = 1_000;

/** The server answers pages within 35 seconds, except reports. */
const LONGEST_REFRESH_MS = 40_000;

/** A stream that broke off opens again after this. */
const REOPENS_AFTER_MS = 2_000;

/** What no topic reports comes with a refresh too: at each opening of a stream where the last one was longer ago. */
const LONGEST_SEEN_MS = 5 * 60_000;

export function keepLive() {
  const main = document.querySelector("main");
  const topics = (main?.dataset.live ?? "").split(" ").filter((topic) => topic !== "");
  if (main === null || topics.length === 0) return;
  let lastAt = 0;
  let seenAt = Date.now();
  let isWaiting = false;
  let refreshing = Promise.resolve();
  let running = null;
  const refreshSoon = () => {
    if (isWaiting) return;
    isWaiting = true;
    const pause = Math.max(0, lastAt + SHORTEST_PAUSE_MS - Date.now());
    setTimeout(() => {
      // A change during this fetch asks for another fetch after it.
      isWaiting = false;
      lastAt = Date.now();
      refreshing = refreshing.then(async () => {
        running = { began: Date.now(), limit: new AbortController() };
        const trouble = await refresh(main, running);
        if (trouble === null) seenAt = running.began;
        freshness.noteRefresh(trouble);
        running = null;
      });
    }, pause);
  };
  let changes = null;
  const listen = () => {
    changes?.close();
    // The server compares this state with its own, and reports at once what the page lacks.
    const seen = Date.now() - seenAt < LONGEST_SEEN_MS ? main.dataset.seen : "";
    const stream = new EventSource(`/changes?${new URLSearchParams({ topics: topics.join(","), seen })}`);
    changes = stream;
    stream.addEventListener("error", () => {
      freshness.noteLost();
      // One that the server refused stays closed. Others would open again by themselves, and repeat an old state of the page.
      if (stream.readyState === EventSource.CLOSED) return;
      stream.close();
      setTimeout(() => {
        if (changes === stream && document.visibilityState === "visible") listen();
      }, REOPENS_AFTER_MS);
    });
    stream.addEventListener("heartbeat", ({ data }) => freshness.noteHeartbeat(data === "database readable"));
    stream.addEventListener("changed", refreshSoon);
  };
  const freshness = watchFreshness(() => {
    // A stream that is silent may be dead. One that the server refused for good does not try again by itself.
    listen();
    // While the stream lives, a page may take long.
    if (running !== null && Date.now() - running.began > LONGEST_REFRESH_MS) running.limit.abort();
    refreshSoon();
  }, refreshSoon);
  listen();
  // A browser opens only six connections to one server: a page in the background closes its connection.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") {
      freshness.wake();
      listen();
    } else changes.close();
  });
}

/** @returns null where the page is up to date now; otherwise why not, in words; undefined: this refresh says nothing */
async function refresh(main, { began, limit }) {
  try {
    return await fetchAndMorph(main, limit.signal);
  } catch {
    // The computer slept meanwhile, or the browser stopped the page in the background.
    const wasStopped = Date.now() - began > 2 * LONGEST_REFRESH_MS || document.visibilityState !== "visible";
    return wasStopped ? undefined : WORKER_SILENT;
  }
}

async function fetchAndMorph(main, signal) {
  // With this header the server keeps the notice of a step for the next page that the visitor opens.
  const headers = { accept: "text/html", "x-refresh": "1" };
  const answer = await fetch(location.href, { headers, signal });
  if (answer.status === 503) return DATABASE_SILENT;
  // A form with a wrong value has other parts that change. What the page is about may be gone: then the page must say so.
  if (!(answer.ok || [400, 404].includes(answer.status)))
    return `the worker answers with an error (${answer.status})`;
  // The visitor has signed out: the sign-in page must not appear inside this page.
  if (answer.redirected) {
    location.reload();
    return null;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  if (fresh === null) return "the worker answers with another page";
  // A notice is about one step. It stays until the visitor opens the next page, not only until the next change.
  fresh.querySelector("#notice")?.replaceWith(document.querySelector("#notice").cloneNode(true));
  Idiomorph.morph(main, fresh.innerHTML, {
    morphStyle: "innerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: keepsWhatIsTheVisitors,
      // No attribute holds the text that the visitor typed into a textarea.
      beforeNodeMorphed: (element, fresh) => element.tagName !== "TEXTAREA" && !keepsDecision(element, fresh),
      // A step that is over for the server: its form stays while it holds what the visitor typed. Sent, it is refused.
      // What a script has drawn is not in the document: the script draws it again from the new figures.
      beforeNodeRemoved: (node) => !holdsTyped(node) && !isDrawn(node),
    },
  });
  main.dataset.seen = fresh.dataset.seen ?? "";
  main.dispatchEvent(new CustomEvent("refreshed", { bubbles: true }));
  return null;
}

/**
 * Other buttons must not take the place of those that the visitor is about to press. What he sends then is for the former
 * status: the server refuses it, and shows his note again.
 * @returns whether the form stays as it is, because somebody else has decided while the visitor was writing
 */
function keepsDecision(form, fresh) {
  const before =
    form.tagName === "FORM" ? form.querySelector("input[name=from][type=hidden]")?.value : undefined;
  const now = before === undefined ? undefined : fresh.querySelector("input[name=from]")?.value;
  if (now === undefined || now === before || !holdsTyped(form)) return false;
  const said = form.querySelector("[data-decided]") ?? form.appendChild(document.createElement("p"));
  said.dataset.decided = now;
  said.className = "problem";
  said.setAttribute("role", "status");
  said.textContent = `Somebody else has decided while you were writing: the status is ${now} now. A step for the former status is refused, and your note stays.`;
  return true;
}

function isDrawn(node) {
  return node instanceof Element && node.matches(".uplot");
}

function holdsTyped(node) {
  if (!(node instanceof Element)) return false;
  const fields = [node, ...node.querySelectorAll("textarea, input")].filter((one) =>
    one.matches("textarea, input[size], input[type=text]"),
  );
  return fields.some((field) => field.value !== field.defaultValue);
}

/** @returns false for attributes that the visitor owns: what is checked, typed or opened */
function keepsWhatIsTheVisitors(attribute, element) {
  if (attribute === "open" && element.tagName === "DETAILS") return false;
  if (attribute === "selected" && element.tagName === "OPTION") return false;
  if (element.tagName !== "INPUT") return true;
  // The server sets the values of these types; nobody types them.
  const isFixed = ["hidden", "checkbox", "radio", "submit"].includes(element.type);
  return !(attribute === "checked" || (attribute === "value" && !isFixed));
}
