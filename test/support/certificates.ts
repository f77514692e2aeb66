/** Certificates of an authority of our own, made by openssl, which every system has. */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificates {
  readonly folder: string;
  /** files */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** @param names of the certificate, such as "IP:127.0.0.1,DNS:localhost" */
export function makeCertificates(names: string): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "recon-certificates-"));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
    "-subj",
    "/CN=our authority",
    "-days",
    "2",
  );
  writeFileSync(at("names"), `subjectAltName=${names}\n`);
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server");
  openssl(
    ...["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
    ...["-out", "server.crt", "-days", "2", "-extfile", "names"],
  );
  chmodSync(folder, 0o755);
  chmodSync(at("server.key"), 0o600);
  return { folder, ca: at("ca.crt"), cert: at("server.crt"), key: at("server.key") };
}
