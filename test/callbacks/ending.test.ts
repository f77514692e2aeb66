import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startCallbackServer } from "../../src/callbacks/server.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { exampleEnvelope, post } from "./operator.ts";

const { sql } = useDatabase();

async function startServer() {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
  return await startCallbackServer(context, {
    host: "127.0.0.1",
    port: 0,
    basePath: "",
    signatureKey: null,
    allowedIps: [],
  });
}

test("the server closes although a provider keeps a connection open on which it never sent a request", async () => {
  const server = await startServer();
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  // The server must have seen the connection before it ends.
  await post(server.url, "checkBalance", exampleEnvelope("nobody"));
  const ended = once(socket, "close");
  socket.resume();
  await server.close();
  await ended;
});

test("the server answers a request in flight before it closes", async () => {
  const server = await startServer();
  const envelope = { ...exampleEnvelope("in-flight"), id: "in-flight-1" };
  await sql`insert into wallets (username, currency, balance, created_at) values ('in-flight', 'THB', 10, ${NOON})`;
  const txns = [{ id: "bet-1", status: "OPEN", roundId: "r", gameCode: "G", playInfo: "G", betAmount: 4 }];
  const { answer, closing } = await sql.begin(async (tx) => {
    await tx`select from wallets where username = 'in-flight' for update`;
    const answer = post(server.url, "placeBets", { ...envelope, txns });
    await eventually("it waits for the wallet", async () => {
      const waiting =
        await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length === 1;
    });
    return { answer, closing: server.close() };
  });
  expect((await answer).json).toMatchObject({ statusCode: 0, balanceAfter: 6 });
  await closing;
});
