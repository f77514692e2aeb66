/** Counts the requests on the wire that move money at the provider. */

import { startWireTap, type WireTap } from "./wire-tap.ts";

export interface RequestTap extends WireTap {
  /** how often a deposit or withdrawal of each transactionRef was sent */
  sendings(): ReadonlyMap<string, number>;
}

const SENDING = /POST \/(?:deposit|withdraw) HTTP(?:(?!POST \/)[\s\S])*?"transactionRef":"([^"]*)"/g;

/** @param url of the provider */
export async function tapRequests(url: string): Promise<RequestTap> {
  const connections: { text: string }[] = [];
  const tap = await startWireTap(url, () => {
    const sent = { text: "" };
    connections.push(sent);
    return (text) => {
      sent.text += text;
    };
  });
  return {
    ...tap,
    sendings: () => {
      const counts = new Map<string, number>();
      for (const [, ref = ""] of connections.flatMap(({ text }) => [...text.matchAll(SENDING)])) {
        counts.set(ref, (counts.get(ref) ?? 0) + 1);
      }
      return counts;
    },
  };
}
