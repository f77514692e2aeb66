/** The hosts of DATABASE_URL and REDIS_URL, of which there may be several: "db-1:5432,[::1]:5433". */

/** What an operator must do if an address cannot be read. */
export const HOW_TO_ENCODE = "in a user or a password write % as %25, @ as %40, # as %23, / as %2F, ? as %3F";

/** @returns the hosts without the brackets of IPv6, with "" for what is not named; null: one cannot be read */
export function readHosts(list: string): { readonly host: string; readonly port: string }[] | null {
  const hosts = list.split(",").map((place) => {
    const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(place) ?? [];
    return host === undefined ? null : { host: host.replace(/^\[(.*)\]$/, "$1"), port };
  });
  return hosts.some((one) => one === null) ? null : hosts.filter((one) => one !== null);
}
