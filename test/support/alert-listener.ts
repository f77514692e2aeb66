/** A real HTTP server that listens for alerts. It keeps what it accepts, and can be down for a while. */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { AlertChannel } from "../../src/alerts/channel.ts";
import { openChannels } from "../../src/alerts/channels.ts";
import { ownPort } from "./own-port.ts";

export interface ReceivedAlert {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an alert says is what the tests are about.
  readonly json: any;
}

export interface AlertListener {
  /** Its path is as secret as the URLs of such listeners. */
  url(): string;
  /** all alerts of this test, accepted or not, in order */
  readonly heard: readonly ReceivedAlert[];
  /** Decides how every later alert of this test is answered. */
  answer(script: (heard: ReceivedAlert, response: ServerResponse) => void): void;
  /** Closes the port. */
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
}

export const SECRET_PATH = "T0PSECRET";
export const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString("base64")}`;

/** Call at the top of a test file. Each test begins with a listener that accepts every alert. */
export function useAlertListener(): AlertListener {
  const heard: ReceivedAlert[] = [];
  const takeAll = (_: ReceivedAlert, response: ServerResponse) => response.writeHead(200).end("ok");
  let script: (heard: ReceivedAlert, response: ServerResponse) => void = takeAll;
  let server: Server;
  let port = 0;
  const listen = async () => {
    server = createServer(async (request, response) => {
      // A worker that was killed in the middle of a request has sent nothing.
      const body = await text(request).catch(() => null);
      if (body === null) return;
      const one = { headers: request.headers, body, json: body === "" ? null : JSON.parse(body) };
      heard.push(one);
      script(one, response);
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  };
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  beforeAll(async () => {
    port = await ownPort();
    await listen();
  });
  beforeEach(async () => {
    heard.length = 0;
    script = takeAll;
    if (!server.listening) await listen();
  });
  afterAll(close);
  return {
    url: () => `http://127.0.0.1:${port}/${SECRET_PATH}`,
    heard,
    answer: (next) => {
      script = next;
    },
    goDown: close,
    comeBack: listen,
  };
}

/** The channels that send to these listeners. Links lead to the ops server at port 3000. */
export function channelsTo(to: {
  readonly webhook?: AlertListener;
  readonly slack?: AlertListener;
}): AlertChannel[] {
  const settings = {
    webhook: to.webhook === undefined ? null : { url: to.webhook.url(), secret: WEBHOOK_SECRET },
    slack: to.slack === undefined ? null : { url: to.slack.url() },
  };
  return openChannels(settings, { host: "127.0.0.1", port: 3000 });
}
