/**
 * The provider's side of the callbacks' figure, in a process of its own. Each client sends a placement and then its
 * settlement, each as soon as the answer before has arrived. Bare open sockets keep the cost of the clients low.
 */

import { connect } from "node:net";
import type { LoadPlan, LoadResult } from "./callback-plan.ts";
import { answerEnd, requestText } from "./callback-plan.ts";

const [port = "", planText = "{}"] = process.argv.slice(2);
const plan = JSON.parse(planText) as LoadPlan;
const latenciesMs: number[] = [];
const stopAt = performance.now() + plan.seconds * 1000;

function runClient(client: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1").setNoDelay(true);
    let sent = 0;
    let sentAt = 0;
    let answer = "";
    const sendNext = () => {
      sentAt = performance.now();
      if (sentAt >= stopAt) {
        socket.end();
        return;
      }
      socket.write(requestText(plan, client, sent));
      sent += 1;
    };
    socket.on("connect", sendNext);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      const end = answerEnd(answer);
      if (end === null || answer.length < end) return;
      if (!answer.includes('"statusCode":0,')) return reject(new Error(`refused: ${answer}`));
      latenciesMs.push(performance.now() - sentAt);
      answer = answer.slice(end);
      sendNext();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve());
  });
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: plan.clients }, (_, client) => runClient(client)));
const seconds = (performance.now() - startedAt) / 1000;
latenciesMs.sort((a, b) => a - b);
const rank = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
const result: LoadResult = {
  perSecond: latenciesMs.length / seconds,
  seconds,
  p50Ms: rank(0.5),
  p99Ms: rank(0.99),
};
console.log(JSON.stringify(result));
