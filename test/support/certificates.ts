/** Certificates of an authority of our own. */

import "reflect-metadata"; // for the certificates' library
import { webcrypto } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  type JsonGeneralNames,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { systemClock } from "../../src/clock.ts";

export interface Certificates {
  readonly folder: string;
  /** files */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
const newKeys = () => webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);

/** @param names of the certificate, such as `{ type: "ip", value: "127.0.0.1" }` */
export async function makeCertificates(...names: JsonGeneralNames): Promise<Certificates> {
  const now = systemClock.now();
  const valid = {
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
    signingAlgorithm: KEY,
  };
  const [authority, server] = [await newKeys(), await newKeys()];
  const ca = await X509CertificateGenerator.createSelfSigned({
    ...valid,
    serialNumber: "01",
    name: "CN=our authority",
    keys: authority,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const own = await X509CertificateGenerator.create({
    ...valid,
    serialNumber: "02",
    subject: "CN=server",
    issuer: ca.subject,
    publicKey: server.publicKey,
    signingKey: authority.privateKey,
    extensions: [new SubjectAlternativeNameExtension(names)],
  });
  const folder = mkdtempSync(join(tmpdir(), "recon-certificates-"));
  const write = (name: string, text: string, mode: number) => {
    writeFileSync(join(folder, name), `${text}\n`, { mode });
    return join(folder, name);
  };
  const privateKey = await webcrypto.subtle.exportKey("pkcs8", server.privateKey);
  return {
    folder,
    ca: write("ca.crt", ca.toString("pem"), 0o644),
    cert: write("server.crt", own.toString("pem"), 0o644),
    key: write("server.key", PemConverter.encode(privateKey, "PRIVATE KEY"), 0o600),
  };
}
