/** The audit log over HTTP: who changed what, the newest first. */

import type { FastifyInstance } from "fastify";
import { listAudit } from "../../access/audit-store.ts";
import { formatInstant } from "../../clock.ts";
import type { FlowContext } from "../../flows/context.ts";
import { PAGE_QUERY, readPage } from "../input/page-query.ts";
import { describeOperation } from "./operation.ts";
import { AUDIT } from "./state-schema.ts";

const LIST = describeOperation({
  id: "listAudit",
  summary: "every requested change, the newest first",
  query: PAGE_QUERY,
  answers: { 200: AUDIT },
});

export function addAuditRoutes(api: FastifyInstance, { sql }: FlowContext): void {
  api.get("/audit", { schema: LIST }, async ({ query }) => {
    const { audit, next } = await listAudit(sql, readPage(query));
    const described = audit.map(({ id, at, target, details, ...rest }) => ({
      id: String(id),
      at: formatInstant(at),
      ...rest,
      target: JSON.parse(target) as unknown,
      details: details === null ? null : (JSON.parse(details) as unknown),
    }));
    return { audit: described, next };
  });
}
