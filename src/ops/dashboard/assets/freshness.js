/**
 * Says at the top of a page since when it is no longer up to date, and why. The server sends a heartbeat every 15
 * seconds, which says whether the database can be read.
 */

export const WORKER_SILENT = "the worker does not answer";
export const DATABASE_SILENT = "the database does not answer";

const TICK_MS = 5_000;
/** Two missed heartbeats: the page asks again by itself. */
const ASK_AFTER_MS = 30_000;
/** Three missed heartbeats: the page says so. */
const SAY_AFTER_MS = 45_000;
const ASK_AGAIN_MS = 15_000;
/** A stream that ended, for example because it was open for long, opens again within this. */
const REOPENS_MS = 5_000;

/**
 * @param askAgain opens the stream again, and refreshes the page
 * @param refreshSoon refreshes the page
 */
export function watchFreshness(askAgain, refreshSoon) {
  const connection = document.querySelector("#connection");
  const trouble = document.querySelector("#trouble");
  let freshAt = Date.now();
  let tickedAt = freshAt;
  let askAt = freshAt + ASK_AFTER_MS;
  let sayAt = freshAt + SAY_AFTER_MS;
  let isLive = false;
  let why = null;
  const show = () => {
    connection.dataset.state = isLive && why === null ? "live" : "lost";
  };
  const say = (reason) => {
    if (why === reason) return;
    why = reason;
    show();
    const line = document.createElement("p");
    line.textContent = `Nothing new since ${sayClock(freshAt)}: ${reason}. This page tries again by itself.`;
    trouble.replaceChildren(line);
  };
  const noteFresh = () => {
    freshAt = Date.now();
    sayAt = freshAt + SAY_AFTER_MS;
    why = null;
    show();
    if (trouble.hasChildNodes()) trouble.replaceChildren();
  };
  // What did not happen while the computer slept or the tab was in the background is no sign of trouble.
  const wake = () => {
    tickedAt = Date.now();
    sayAt = tickedAt + SAY_AFTER_MS;
    askAt = tickedAt + REOPENS_MS;
  };
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    const now = Date.now();
    const slept = now - tickedAt > 3 * TICK_MS;
    if (slept) wake();
    tickedAt = now;
    if (now >= sayAt) {
      isLive = false;
      say(why ?? WORKER_SILENT);
    }
    if (!slept && now < askAt) return;
    askAt = now + ASK_AGAIN_MS;
    askAgain();
  }, TICK_MS);
  return {
    wake,
    /** @param canRead whether the worker can read the database */
    noteHeartbeat: (canRead) => {
      askAt = Date.now() + ASK_AFTER_MS;
      isLive = canRead;
      if (!canRead) return say(DATABASE_SILENT);
      // Only a refresh ends a trouble: it brings what the page has missed.
      if (why === null) noteFresh();
      else refreshSoon();
    },
    noteLost: () => {
      isLive = false;
      show();
      askAt = Math.min(askAt, Date.now() + REOPENS_MS);
    },
    /** @param reason why the page could not be refreshed; null: it is up to date; undefined: not known */
    noteRefresh: (reason) => {
      if (reason === null) noteFresh();
      else if (reason !== undefined) say(reason);
    },
  };
}

/** "2026-11-23 18:33:10" on the clocks of the page's other times. */
function sayClock(at) {
  const timeZone = document.documentElement.dataset.zone;
  return new Date(at).toLocaleString("sv-SE", timeZone === undefined ? {} : { timeZone });
}
