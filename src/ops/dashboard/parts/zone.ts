/** The time zone of a user: chosen on its page, or reported by the browser, each in a cookie. */

import type { FastifyRequest } from "fastify";
import { isZone, localIso, parseInstant, withOffset } from "../../../clock.ts";

/** The user's choice. */
export const CHOSEN_ZONE = "recon_zone";
/** What the script of every page reports. */
const BROWSER_ZONE = "recon_browser_zone";

/** @returns an IANA name; "UTC" if neither the user nor the browser has named a zone */
export function zoneOf({ cookies }: Pick<FastifyRequest, "cookies">): string {
  return (
    [cookies[CHOSEN_ZONE], cookies[BROWSER_ZONE]].find((zone) => zone !== undefined && isZone(zone)) ?? "UTC"
  );
}

/** A time of an address, as a field shows it: on the person's clocks. What a field would read otherwise stays. */
export function inFieldOf(text: string, zone: string): string {
  try {
    const instant = parseInstant(text, "time");
    const local = localIso(instant, zone)
      .replace("T", " ")
      .replace(/\.000$/, "");
    return parseInstant(withOffset(local, zone) ?? "", "time") === instant ? local : text;
  } catch {
    return text;
  }
}

/**
 * The query of a form as a link that can be shared: without empty fields, and with the offset of its times.
 * @param times the fields that hold a time; a time without an offset is in the user's zone
 * @returns null if the query has that form already, or a field more than once
 */
export function tidyQuery(
  query: Readonly<Record<string, unknown>>,
  times: readonly string[],
  zone: string,
): Record<string, string> | null {
  const entries = Object.entries(query).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  // A field that is given more than once is an error, which must stay.
  if (entries.length < Object.keys(query).length) return null;
  const tidy = entries
    .filter(([, value]) => value.trim() !== "")
    .map(([name, value]): [string, string] => [
      name,
      times.includes(name) ? (withOffset(value, zone) ?? value) : value,
    ]);
  const isTidy =
    tidy.length === entries.length && tidy.every(([, value], index) => value === entries[index]?.[1]);
  return isTidy ? null : Object.fromEntries(tidy);
}
