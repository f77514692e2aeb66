/** The values of `statusCode` in the answer to a callback (§2.2, §7.1). The interface leaves them to the operator. */

/**
 * 0 success, 10001 player not found, 10002 balance too low, 20001 bet not found, 20002 duplicate, 20003 already
 * cancelled, 20004 already settled, 30001 malformed request, 30002 bad signature, 50001 internal error.
 */
export type StatusCode = 0 | 10001 | 10002 | 20001 | 20002 | 20003 | 20004 | 30001 | 30002 | 50001;

/** Refuses a request. Thrown and caught within the judging of a request only. */
export class CallbackRefusal extends Error {
  readonly statusCode: Exclude<StatusCode, 0>;

  constructor(statusCode: Exclude<StatusCode, 0>, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}
