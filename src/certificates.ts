/** Explains errors of TLS, and what to do about them. */

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  // Signed by a different authority with the same name.
  "CERT_SIGNATURE_FAILURE",
]);

const OTHERS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired. Renew it at the server",
  CERT_NOT_YET_VALID:
    "its certificate is not valid yet. Check the clock of this machine and that of the server",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS at this port. Check scheme and port",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "it asks for a client certificate, which only PostgreSQL gets (sslcert and sslkey of DATABASE_URL). Let it accept clients without one",
};

/**
 * Explains an error of TLS, also one that is the cause of another.
 * @param setting the setting besides NODE_EXTRA_CA_CERTS that can name a file of certificate authorities
 * @returns words that follow the name of the server, without a full stop at the end; null: it is another error
 */
export function explainTls(error: unknown, setting = ""): string | null {
  const { code = "", cause, message = "" } = (error ?? {}) as NodeJS.ErrnoException & { cause?: unknown };
  if (UNKNOWN_AUTHORITY.has(code)) {
    const also = setting === "" ? "" : `, or name it in ${setting}`;
    return `its certificate is signed by an unknown authority (${code}). If it is your own CA, set NODE_EXTRA_CA_CERTS to its file and restart${also}`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const names =
      / (is not in the cert's .*|does not match .*|.* not in .*)$/.exec(message)?.[0].trim() ?? message;
    return `its certificate is for another name (${names}). Use a name that the certificate covers, or give the server a certificate for this one`;
  }
  const known = OTHERS[code];
  if (known !== undefined) return `${known} (${code})`;
  const [, alert] = /SSL routines:[^:]*:([^:]+)/.exec(message) ?? [];
  if (code.startsWith("ERR_SSL_") || alert !== undefined)
    return `TLS was refused (${alert ?? code}). Check the certificates and TLS versions of both sides`;
  return cause instanceof Error ? explainTls(cause, setting) : null;
}
