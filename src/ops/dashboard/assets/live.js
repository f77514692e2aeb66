/**
 * Brings a page up to date without a reload: the server tells what kind of thing has changed, the page is fetched
 * again, and only what differs in it is exchanged. What somebody types, selects or has opened stays.
 */

import { Idiomorph } from "./idiomorph.js";

/** Changes come in bursts; a page is fetched this often at the most. */
const SHORTEST_PAUSE_MS = 1_000;

export function keepLive() {
  const main = document.querySelector("main");
  const topics = (main?.dataset.live ?? "").split(" ").filter((topic) => topic !== "");
  if (main === null || topics.length === 0) return;
  const connection = document.querySelector("#connection");
  let lastAt = 0;
  let isWaiting = false;
  let refreshing = Promise.resolve();
  const refreshSoon = () => {
    if (isWaiting) return;
    isWaiting = true;
    const pause = Math.max(0, lastAt + SHORTEST_PAUSE_MS - Date.now());
    setTimeout(() => {
      // What changes while this fetch is under way asks for one more, behind it.
      isWaiting = false;
      lastAt = Date.now();
      refreshing = refreshing.then(() => refresh(main)).catch(() => {});
    }, pause);
  };
  let changes = null;
  const listen = () => {
    changes = new EventSource(`/changes?topics=${topics.join(",")}`);
    changes.addEventListener("open", () => {
      connection.dataset.state = "live";
      // What changed while nobody listened was not told: before this page did, or while the connection was lost.
      refreshSoon();
    });
    changes.addEventListener("error", () => {
      connection.dataset.state = "lost";
      // Refused for good: the page itself knows why (signed out, say).
      if (changes.readyState === EventSource.CLOSED) setTimeout(resume, 5_000);
    });
    changes.addEventListener("changed", refreshSoon);
  };
  const resume = () => {
    changes?.close();
    listen();
  };
  listen();
  // A browser opens only six connections to one server: pages in the background let go of theirs.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") resume();
    else changes.close();
  });
}

async function refresh(main) {
  // The header keeps the notice of a step for the page that its visitor opens next.
  const headers = { accept: "text/html", "x-refresh": "1" };
  const answer = await fetch(location.href, { headers }).catch(() => null);
  if (answer === null || !answer.ok) return;
  // Signed out meanwhile: the sign-in page must not appear inside this one.
  if (answer.redirected) return location.reload();
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  if (fresh === null) return;
  // A notice tells of one step and is gone with the next page, not with the next change.
  fresh.querySelector("#notice")?.replaceWith(document.querySelector("#notice").cloneNode(true));
  Idiomorph.morph(main, fresh.innerHTML, {
    morphStyle: "innerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: keepsWhatIsTheVisitors,
      // What was typed into one is no attribute of it.
      beforeNodeMorphed: (element) => element.tagName !== "TEXTAREA",
    },
  });
  main.dispatchEvent(new CustomEvent("refreshed", { bubbles: true }));
}

/** @returns false for attributes that the visitor owns: what is checked, typed or opened */
function keepsWhatIsTheVisitors(attribute, element) {
  if (attribute === "open" && element.tagName === "DETAILS") return false;
  if (attribute === "selected" && element.tagName === "OPTION") return false;
  if (element.tagName !== "INPUT") return true;
  // The value of these is the server's, not typed.
  const isFixed = ["hidden", "checkbox", "radio", "submit"].includes(element.type);
  return !(attribute === "checked" || (attribute === "value" && !isFixed));
}
