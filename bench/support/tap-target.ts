/** The operator's own endpoint for the tap's figures, in a process of its own: a wallet that costs next to nothing. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, reply) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { id, productId, username, currency } = JSON.parse(Buffer.concat(parts).toString());
    const answer = { id, statusCode: 0, productId, username, currency, balanceBefore: 100, balanceAfter: 90 };
    const body = JSON.stringify(answer);
    reply.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    reply.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listens at ${(server.address() as AddressInfo).port}`);
});
