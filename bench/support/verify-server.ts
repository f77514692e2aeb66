/** A provider that knows every transfer and answers after a fixed time, in a process of its own. */

import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const answerMs = Number(process.argv[2]);

const server = createServer(async (request, response) => {
  const cameAt = performance.now();
  const { username, productId, transactionRef } = JSON.parse(await text(request));
  const data = {
    success: true,
    username,
    productId,
    currency: "THB",
    transactionRef,
    amount: "10.00",
    beforeBalance: "0.00",
    afterBalance: "10.00",
  };
  const body = JSON.stringify({ reqId: "r", code: 0, message: "success", data });
  const answer = () => response.writeHead(200, { "content-type": "application/json" }).end(body);
  setTimeout(answer, answerMs - (performance.now() - cameAt));
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
process.on("disconnect", () => process.exit());
