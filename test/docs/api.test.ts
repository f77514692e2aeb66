/** docs/api.md has every route of the API, and no other. */

import { describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { serveOps } from "../support/ops-browser.ts";
import { codesIn, readPage, rowsOf, USER_PAGES } from "./pages.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, clock: createTestClock(NOON), log: silentLog, config };

/** Routes that only a worker adds to the server. Other tests check them. */
const WORKER_ROUTES = ["GET /metrics", "GET /queues"];

describe("docs/api.md", () => {
  const shown = rowsOf("docs/api.md", "path").flatMap(([cell = ""]) => codesIn(cell));

  test("has every operation of the OpenAPI document, and no other", async () => {
    const ask = await serveOps(context, []);
    const { json } = await ask("GET", "/api/openapi.json");
    const routes = Object.entries<object>(json.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    );
    expect(shown.filter((one) => one.includes(" /api/")).sort()).toEqual(routes.sort());
  });

  test("names no other path that does not exist", async () => {
    const ask = await serveOps(context);
    for (const one of shown.filter((route) => !route.includes(" /api/") && !WORKER_ROUTES.includes(route))) {
      const [method = "", path = ""] = one.split(" ");
      expect([one, (await ask(method, path)).status]).not.toEqual([one, 404]);
    }
  });
});

/** The paths in curl commands and between backticks, without the query. */
function pathsIn(page: string): string[] {
  return Array.from(
    readPage(page).matchAll(/(?:127\.0\.0\.1:3000|(?:GET|POST) )(\/(?:api\/)?[a-z][\w/:.-]*)/g),
    ([, path = ""]) => path.replace(/[.:]$/, ""),
  );
}

test("no page names a path that docs/api.md lacks", () => {
  const shown = rowsOf("docs/api.md", "path").flatMap(([cell = ""]) => codesIn(cell));
  const routes = new Set(shown.map((one) => one.split(" ")[1] ?? ""));
  // Pages of the dashboard, and the endpoints of the provider.
  const others = ["docs/interface.md", "docs/commands.md"];
  const pages = ["/mismatches", "/incidents/7", "/changes"];
  const named = USER_PAGES.filter((page) => !others.includes(page)).flatMap((page) =>
    pathsIn(page).map((path) => ({ page, path })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ path }) => !routes.has(path) && !pages.includes(path))).toEqual([]);
});
