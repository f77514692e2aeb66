/** Keeps "4 min ago" true while nothing else changes, in the words of the server. */

import { showDuration } from "./show-duration.js";

const EVERY_MS = 10_000;

export function keepAges() {
  // The clock of the browser may be wrong: only the time since the server wrote the page counts.
  let aheadMs = 0;
  const noteServerTime = () => {
    const now = document.querySelector("main time[data-now]")?.dataset.now;
    if (now !== undefined) aheadMs = Date.parse(now) - Date.now();
  };
  noteServerTime();
  document.addEventListener("refreshed", noteServerTime);
  setInterval(() => {
    if (document.visibilityState === "visible") sayAges(Date.now() + aheadMs);
  }, EVERY_MS);
  document.addEventListener("visibilitychange", () => sayAges(Date.now() + aheadMs));
}

/** Changes only the text, so that the focus stays. What a screen reader would announce stays as it is. */
function sayAges(now) {
  for (const time of document.querySelectorAll("main time[data-now]")) {
    if (time.closest("[role=status], [role=alert], [aria-live]") !== null) continue;
    const age = `${showDuration(Math.max(0, now - Date.parse(time.dateTime)))} ago`;
    if (time.textContent !== age) time.firstChild.data = age;
  }
}
