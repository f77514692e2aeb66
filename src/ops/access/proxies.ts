/** Users who signed in at a proxy in front of this server: oauth2-proxy, Cloudflare Access, Authelia. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { allowAddresses } from "../../callbacks/access.ts";
import { openRepeats, repeatedError } from "../../calm-log.ts";
import type { Clock } from "../../clock.ts";
import type { ProxySignIn } from "../../config.ts";
import type { Log } from "../../log.ts";
import { greatestRole, type Role } from "../../roles.ts";
import { sendProblem } from "../http/problem.ts";

const LONGEST_NAME = 200;
/** An entry of OPS_ROLES for everybody who signed in. */
const EVERYBODY = "*";

/** The user of a proxy's headers, or why the headers name none. */
type ProxiedUser = { readonly name: string; readonly role: Role } | { readonly problem: string };

export interface TrustedProxies {
  /**
   * A hook that answers 403 to a request whose headers name a user, unless a trusted proxy sent it. It logs each address at most
   * once a minute, so that a flood of such requests fills no disk.
   */
  readonly refuseForged: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** @returns null: the request names no user. Only for requests that `refuseForged` let through */
  readonly userOf: (request: FastifyRequest) => ProxiedUser | null;
}

/** @param settings `OPS_TRUSTED_PROXIES` and the headers that they set */
export function openProxies(
  { addresses, userHeader, groupsHeader, roles }: ProxySignIn,
  log: Log,
  clock: Clock,
): TrustedProxies {
  const isTrusted = allowAddresses(addresses);
  const repeats = openRepeats(clock);
  const headers = groupsHeader === null ? [userHeader] : [userHeader, groupsHeader];
  return {
    refuseForged: async (request, reply) => {
      const { ip, method, url } = request;
      const named = headers.find((header) => request.headers[header] !== undefined);
      if (named === undefined || isTrusted(ip)) return;
      const repeated = repeats(ip);
      const error = `it has the header ${named}, which only OPS_TRUSTED_PROXIES may send`;
      if (repeated !== null)
        log.warn(
          { address: ip, method, path: url.split("?")[0], ...repeatedError(error, repeated) },
          `a request from ${ip} was refused`,
        );
      await sendProblem(reply, 403, "Forbidden", `${named} is accepted from OPS_TRUSTED_PROXIES only`);
    },
    userOf: (request) => {
      const twice = headers.find((header) => countOf(request, header) > 1);
      // A proxy that adds its header to the client's own instead of replacing it lets everybody choose a name.
      if (twice !== undefined) return { problem: `the proxy sent the header ${twice} twice` };
      const name = textOf(request, userHeader);
      if (name === null) return null;
      if (name.length > LONGEST_NAME)
        return { problem: `the name in ${userHeader} has more than ${LONGEST_NAME} characters` };
      // Mismatches that "recon" resolved open again by themselves.
      if (name === "recon") return { problem: `${userHeader} is "recon", which is the name of this program` };
      const said = groupsHeader === null ? null : textOf(request, groupsHeader);
      const groups = (said ?? "").split(",").map((one) => one.trim());
      const role = greatestRole(
        roles.filter(({ group }) => group === EVERYBODY || groups.includes(group)).map(({ role }) => role),
      );
      if (role !== null) return { name, role };
      const of = said === null ? "no groups" : `the groups "${said}"`;
      return { problem: `OPS_ROLES gives "${name}" no role: the proxy named ${of}` };
    },
  };
}

/** The value without spaces around it, as UTF-8 if it is: Node reads headers as Latin-1. @returns null: absent or empty */
function textOf({ headers }: FastifyRequest, header: string): string | null {
  const value = headers[header];
  if (typeof value !== "string" || value.trim() === "") return null;
  const bytes = Buffer.from(value.trim(), "latin1");
  const text = bytes.toString("utf8");
  return text.includes("\ufffd") ? value.trim() : text;
}

function countOf({ raw }: FastifyRequest, header: string): number {
  return raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header).length;
}
