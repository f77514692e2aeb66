/** A real HTTP server that listens while the tests of a file run. */

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

/** Call at the top of a test file. @returns the base URL, without a slash at its end */
export function useServer(server: Server): () => string {
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
