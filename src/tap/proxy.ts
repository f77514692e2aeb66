/**
 * The tap's connections. Each caller's connection has its own connection to the target, and bytes pass between them
 * unchanged (decision 145). The last byte of a callback's answer is held until the journal write completes.
 */

import { once } from "node:events";
import { connect as connectPlain, createServer, isIP, type Socket } from "node:net";
import { Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import { refuseUnlisted } from "../callbacks/access.ts";
import { describeError, ReconError } from "../errors.ts";
import { type AnsweredCallback, Conversation, type ConversationContext } from "./conversation.ts";

export interface ProxySettings {
  readonly host: string;
  readonly port: number;
  /** http or https; its path comes before the path of each request */
  readonly target: URL;
  readonly isAllowed: (address: string | undefined) => boolean;
}

interface ProxyContext extends ConversationContext {
  /** Resolves when the caller may have the answers; never rejects. */
  readonly record: (answered: readonly AnsweredCallback[]) => Promise<void>;
  readonly onUnreachable: (error: unknown) => void;
  readonly onRefused: (address: string | undefined) => void;
  /** called if the tap could not accept a connection */
  readonly onTrouble: (error: unknown) => void;
}

interface TapProxy {
  /** the address it listens on: "http://127.0.0.1:3001" */
  readonly url: string;
  /** Accepts no more connections; requests in flight have `longestMs` for their answers. */
  close(longestMs: number): Promise<void>;
}

/** Far more than a provider opens. */
const MOST_CONNECTIONS = 5_000;
const CONNECT_MS = 10_000;
/** After one side has ended a connection, the other side must end it within this time. */
const LINGER_MS = 30_000;
const PROBE_AFTER_MS = 30_000;
const SWEEP_EVERY_MS = 50;

/**
 * Starts to listen. The target need not be running yet.
 * @throws ReconError `listen-failed` if the port is in use
 */
export async function startProxy(context: ProxyContext, settings: ProxySettings): Promise<TapProxy> {
  const { host, port, isAllowed } = settings;
  const open = new Map<Socket, Conversation>();
  const server = createServer({
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.on("drop", () =>
    context.onTrouble(new Error(`${MOST_CONNECTIONS} connections are open, so another one was refused`)),
  );
  refuseUnlisted(server, isAllowed, context.onRefused);
  server.on("connection", (caller) => {
    if (caller.destroyed) return;
    const conversation = new Conversation(context, settings.target.pathname.replace(/\/+$/, ""));
    open.set(caller, conversation);
    context.tally.connections = open.size;
    caller.on("error", () => {});
    caller.once("close", () => {
      open.delete(caller);
      context.tally.connections = open.size;
    });
    // The tap connects to the target when the first bytes arrive, so a TCP probe of the tap does not reach the target.
    caller.once("readable", () => {
      if (caller.readableLength === 0) caller.end();
      else passOn(caller, conversation, context, settings.target);
    });
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new ReconError(
      "listen-failed",
      `the tap cannot listen on ${host}:${port}: ${describeError(error)}. Set CALLBACK_PORT to a free port.`,
      { cause: error },
    );
  }
  server.on("error", (error) => context.onTrouble(error));
  const address = server.address();
  const listened = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${listened}`,
    close: async (longestMs) => {
      const ended = once(server, "close");
      server.close();
      const sweep = (isOver: boolean) => {
        for (const [caller, conversation] of open) if (isOver || conversation.isIdle) caller.destroySoon();
      };
      const sweeping = setInterval(sweep, SWEEP_EVERY_MS, false);
      const last = setTimeout(() => {
        for (const caller of open.keys()) caller.destroy();
      }, longestMs);
      await ended;
      clearInterval(sweeping);
      clearTimeout(last);
    },
  };
}

function passOn(caller: Socket, conversation: Conversation, context: ProxyContext, target: URL): void {
  const upstream = connectTo(target);
  let isConnected = false;
  let isEnding = false;
  const giveUp = setTimeout(
    () => upstream.destroy(new Error(`it did not accept a connection within ${CONNECT_MS / 1000} s`)),
    CONNECT_MS,
  );
  /** Ends both connections. Further bytes of the caller are read and dropped: unread bytes would reset the answer. */
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    requests.unpipe(upstream);
    requests.resume();
    upstream.unpipe(answers);
    upstream.resume();
    upstream.end();
    answers.end();
    lingerOver(caller, upstream);
  };
  const requests = readRequests(conversation, context, end);
  const answers = readAnswers(conversation, context, end);
  upstream.once(target.protocol === "https:" ? "secureConnect" : "connect", () => {
    isConnected = true;
    clearTimeout(giveUp);
    caller.pipe(requests).pipe(upstream);
    upstream.pipe(answers).pipe(caller);
  });
  upstream.on("error", () => {});
  upstream.once("error", (error) => {
    if (isEnding) return;
    if (isConnected) {
      // The target reset the connection, so the tap resets the caller's.
      caller.resetAndDestroy();
    } else {
      context.tally.unreachable += 1;
      context.onUnreachable(explain(error));
      refuse(caller);
    }
  });
  upstream.once("end", () => lingerOver(caller, upstream));
  upstream.once("close", () => {
    clearTimeout(giveUp);
    conversation.close();
    // If the target ended its side normally, received bytes are passed on first.
    if (isConnected && !isEnding && !upstream.readableEnded) caller.destroy();
  });
  caller.once("close", () => {
    // Ends the target's connection too. If the target still answers, the answer is recorded.
    answers.unpipe(caller);
    answers.resume();
    if (isConnected) requests.end();
    else upstream.destroy();
    lingerOver(upstream);
  });
}

function connectTo({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  const common = { host, allowHalfOpen: true };
  // An IP address is not a server name (RFC 6066, 3).
  const name = isIP(host) === 0 ? { servername: host } : {};
  const upstream =
    protocol === "https:"
      ? connectTls({ ...common, ...name, port: Number(port || 443), ALPNProtocols: ["http/1.1"] })
      : connectPlain({ ...common, port: Number(port || 80) });
  return upstream.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
}

/** OpenSSL codes for a certificate signed by an unknown authority. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)/;

function explain(error: NodeJS.ErrnoException): Error {
  if (!UNTRUSTED.test(error.code ?? "")) return error;
  const code = error.code?.toLowerCase().replaceAll("_", " ");
  return new Error(
    `its certificate is signed by an unknown authority (${code}). If it is your own CA, set NODE_EXTRA_CA_CERTS to its file and restart the tap`,
  );
}

/** Closes connections if the other side does not end them in time. */
function lingerOver(...sockets: readonly Socket[]): void {
  setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, LINGER_MS).unref();
}

function readRequests(conversation: Conversation, context: ProxyContext, end: () => void): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      done(null, conversation.request(bytes));
      const answered = conversation.take();
      if (answered.length > 0) void context.record(answered);
      if (conversation.isOver) end();
    },
  });
}

function readAnswers(conversation: Conversation, context: ProxyContext, end: () => void): Transform {
  const recorded = (done: () => void) => {
    const answered = conversation.take();
    if (answered.length === 0) done();
    else void conversation.holdFor(context.record(answered)).then(done);
  };
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const passed = conversation.answer(bytes);
      recorded(() => {
        done(null, passed);
        if (conversation.isOver) end();
      });
    },
    flush(done) {
      const left = conversation.finish();
      recorded(() => done(null, left));
    },
  });
}

const REFUSAL = '{"error":"the tap cannot reach the target"}';

/** Sends the only answer of the tap itself: 502. */
function refuse(caller: Socket): void {
  const first: unknown = caller.read();
  const isHead = Buffer.isBuffer(first) && first.toString("latin1", 0, 5) === "HEAD ";
  caller.end(
    `HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${REFUSAL.length}\r\nConnection: close\r\n\r\n${isHead ? "" : REFUSAL}`,
  );
  // Drains further bytes of the caller: unread bytes would reset the connection before the answer arrives.
  caller.resume();
  lingerOver(caller);
}
