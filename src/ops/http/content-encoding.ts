/** How bodies of the API are encoded: requests arrive as they are, answers may be compressed. */

import { constants } from "node:zlib";
import compress, { type FastifyCompressOptions } from "@fastify/compress";
import type { FastifyInstance } from "fastify";

/** At brotli's default quality, 11, a list of 1,000 mismatches takes a second. */
const COMPRESSION = {
  encodings: ["br", "gzip"],
  threshold: 1_024,
  globalDecompression: false,
  brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
} satisfies FastifyCompressOptions;

/** Compresses answers, and refuses requests with a compressed body. Must be called before the routes are added. */
export async function addContentEncoding(api: FastifyInstance): Promise<void> {
  api.addHook("onRequest", async ({ headers }, reply) => {
    const { "content-encoding": coding = "identity", "content-length": length = "0" } = headers;
    const hasBody = length !== "0" || headers["transfer-encoding"] !== undefined;
    if (!hasBody || coding.toLowerCase() === "identity") return;
    reply.header("accept-encoding", "identity");
    const detail = `Content-Encoding is "${coding.slice(0, 100)}", but must be identity: send the body uncompressed`;
    throw Object.assign(new Error(detail), { statusCode: 415 });
  });
  // A cache that keeps an uncompressed answer must not give it to a caller who asks for another encoding.
  api.addHook("onSend", async (_request, reply) => {
    reply.header("vary", [reply.getHeader("vary"), "accept-encoding"].flat().filter(Boolean).join(", "));
  });
  await api.register(compress, COMPRESSION);
}
