import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, useBrowser } from "../support/browser.ts";

const browser = useBrowser();

/** A server with one page. */
async function serve(body: string, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== "/") return response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers });
    return response.end(
      `<!doctype html><html lang="en"><head><title>t</title></head><body>${body}</body></html>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a correct page passes, also under a strict Content-Security-Policy", async () => {
  const baseUrl = await serve("<main><h1>Hello</h1></main>", {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'",
  });
  const page = await browser.newPage({ baseUrl });
  await page.goto("/");
  expect(await page.textContent("h1")).toBe("Hello");
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test("unreadable text is found", async () => {
  const baseUrl = await serve('<main><h1>Hello</h1><img src="/x.png"><input><p id="wide">wide</p></main>');
  const page = await browser.newPage({ baseUrl, viewport: { width: 360, height: 700 } });
  await page.goto("/");
  await expect(expectAccessible(page)).rejects.toMatchObject({
    actual: [
      { rule: expect.stringContaining("image-alt") },
      { rule: expect.stringContaining("label"), where: [expect.stringContaining("<input>")] },
    ],
  });
  await page.evaluate("document.getElementById('wide').style.width = '500px'");
  await expect(expectNoSidewaysScroll(page)).rejects.toThrow("width of what");
});
