/** Reports the browser's time zone to the server, which writes all times. */

const COOKIE = "recon_browser_zone";
const YEAR_SECONDS = 31_536_000;

export function reportZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || cookie(COOKIE) === zone) return;
  const secure = location.protocol === "https:" ? "; secure" : "";
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs https, which a page on this machine lacks.
  document.cookie = `${COOKIE}=${encodeURIComponent(zone)}; path=/; max-age=${YEAR_SECONDS}; samesite=lax${secure}`;
  const shown = document.documentElement.dataset.zone;
  const isRefused = cookie(COOKIE) !== zone;
  if (shown === undefined || shown === zone || isRefused || cookie("recon_zone") !== null) return;
  // The first page of this browser came in another zone.
  location.replace(location.href);
}

function cookie(name) {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found === undefined ? null : decodeURIComponent(found.slice(name.length + 1));
}
