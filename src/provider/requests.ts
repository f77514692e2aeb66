/** Checks requests before they are sent (§4.B, §4.C). */

import type { z } from "zod";
import { AGENT_ENDPOINTS, type AgentEndpoint, type AgentRequest } from "../agent-endpoints.ts";
import { TOP_UP_PATH } from "../config-file.ts";
import { ReconError } from "../errors.ts";

/**
 * @returns the query or body
 * @throws ReconError `bad-request` that names every wrong field; so do all functions here
 */
export function checkRequest<Endpoint extends AgentEndpoint>(
  endpoint: Endpoint,
  request: AgentRequest<Endpoint>,
): object {
  const schema: z.ZodType<object> = AGENT_ENDPOINTS[endpoint].request;
  const checked = schema.safeParse(request);
  if (checked.success) return checked.data;
  throw badRequest(checked.error.issues.map((issue) => describeProblem(issue, request)).join("; "));
}

/** One segment of a path, so the request cannot reach another endpoint (§4.B5). */
export function checkTopUpPath(topUpPath: string): string {
  if (TOP_UP_PATH.test(topUpPath)) return topUpPath;
  throw badRequest(`topUpPath must be one segment of a path such as "P1_seamless", but is "${topUpPath}"`);
}

/** `date` of §4.B3, as yyyy-MM-dd. */
export function checkDate(date: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(date) && new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date);
  if (isDay) return date;
  throw badRequest(`date must be a day such as 2026-11-20, but is "${date.slice(0, 40)}"`);
}

function describeProblem({ path, message }: z.core.$ZodIssue, request: unknown): string {
  const [field] = path;
  if (field === undefined) return message;
  const value = (request as Record<PropertyKey, unknown> | null)?.[field];
  const isSecret = field === "sessionToken" || field === "callbackUrl";
  const shown = JSON.stringify(value)?.slice(0, 80);
  if (value === undefined) return `${String(field)} is missing; it ${message}`;
  return `${String(field)} ${message}${isSecret ? "" : `, but is ${shown}`}`;
}

function badRequest(problem: string): ReconError {
  return new ReconError("bad-request", `nothing was sent: ${problem}`);
}
