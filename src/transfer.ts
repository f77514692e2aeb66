/** A deposit to, or withdrawal from, a product's own wallet (§4.C2, §4.C3). */

/** Unknown stays `pending` until the provider's answer is certain; `inconclusive` asks for a person. */
export const TRANSFER_STATUSES = ["pending", "accepted", "rejected", "inconclusive"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];
