/** DATABASE_URL as services hand it out, against a real server with TLS. */

import { readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { readDatabaseUrl, warnOfDatabaseUrl } from "../../src/database-url.ts";
import { checkDatabase, openDatabase, type Sql } from "../../src/db/client.ts";
import { closeClient, connectClient } from "../../src/db/pg-client.ts";
import { silentLog } from "../../src/log.ts";
import { callRecon } from "../cli/call-recon.ts";
import { startRecon } from "../cli/run-recon.ts";
import { makeCertificates } from "../support/certificates.ts";
import { useDatabase } from "../support/database.ts";

const { url } = useDatabase();
const own = await makeCertificates({ type: "ip", value: "127.0.0.1" });
const other = await makeCertificates({ type: "dns", value: "elsewhere.example" });

/** The subject of the certificates, whose bearer needs no password. */
const BEARER = "server";

/** Runs a command of `sed` on the rules of entry, as the server's user. */
async function editRules(admin: Sql, command: string): Promise<void> {
  const file = (await admin`show hba_file`)[0]?.["hba_file"];
  await admin.unsafe(`copy (select) to program 'cat > /dev/null; sed -i "${command}" ${file}'`);
}

beforeAll(async () => {
  const admin = openDatabase(inject("adminUrl"), 1);
  // The server's user must own the key, and no other may read it.
  for (const [name, file] of [
    ["tls.crt", own.cert],
    ["tls.key", own.key],
    ["tls.ca", own.ca],
  ] as const) {
    const lines = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => `('${line}')`);
    const folder = (await admin`show data_directory`)[0]?.["data_directory"];
    await admin.unsafe(`copy (values ${lines.join(",")}) to program 'umask 077; cat > ${folder}/${name}'`);
  }
  await admin.unsafe("alter system set ssl_cert_file = 'tls.crt'");
  await admin.unsafe("alter system set ssl_key_file = 'tls.key'");
  await admin.unsafe("alter system set ssl_ca_file = 'tls.ca'");
  await admin.unsafe("alter system set ssl = on");
  await editRules(admin, `1i hostssl all ${BEARER} all cert`);
  await admin.unsafe(`create role ${BEARER} superuser login`);
  await admin`select pg_reload_conf()`;
  await admin.end();
});
afterAll(async () => {
  const admin = openDatabase(inject("adminUrl"), 1);
  for (const name of ["ssl", "ssl_cert_file", "ssl_key_file", "ssl_ca_file"])
    await admin.unsafe(`alter system reset ${name}`);
  await editRules(admin, "1d");
  await admin.unsafe(`drop role ${BEARER}`);
  await admin`select pg_reload_conf()`;
  await admin.end();
  for (const { folder } of [own, other]) rmSync(folder, { recursive: true });
});

const withParameters = (parameters: string) => `${url}?${parameters}`;

/** Connects as each kind of work does. @returns whether each connection has TLS */
async function connectInEachWay(address: string): Promise<boolean[]> {
  const pool = openDatabase(address, 1);
  onTestFinished(() => pool.end({ timeout: 0 }));
  await checkDatabase(pool);
  const tls = "select ssl as tls from pg_stat_ssl where pid = pg_backend_pid()";
  const [row] = await pool.unsafe<{ tls: boolean }[]>(tls);
  const client = await connectClient(pool.options);
  const { rows } = await client.query<{ tls: boolean }>(tls);
  await closeClient(client);
  const backend = openBackend(null, address, silentLog);
  await backend.check();
  await backend.close();
  return [row?.tls, rows[0]?.tls].map((one) => one === true);
}

describe("TLS", () => {
  test.each([
    ["sslmode=disable", false],
    ["sslmode=allow", true],
    ["sslmode=prefer", true],
    ["sslmode=require", true],
    ["sslmode=require&channel_binding=require", true],
    [`sslmode=require&sslrootcert=${own.ca}`, true],
    [`sslmode=verify-ca&sslrootcert=${own.ca}`, true],
    [`sslmode=verify-full&sslrootcert=${own.ca}&application_name=ours&gssencmode=disable`, true],
    [`sslrootcert=${own.ca}`, true],
  ])("%s connects every kind of work", async (parameters, tls) => {
    expect(await connectInEachWay(withParameters(parameters))).toEqual([tls, tls]);
  });

  test.each([
    [
      "sslmode=verify-full",
      /cannot be used: its certificate is signed by an unknown authority .* or name it in sslrootcert of DATABASE_URL\./,
    ],
    [`sslmode=verify-full&sslrootcert=${other.ca}`, /unknown authority/],
    [`sslmode=verify-ca&sslrootcert=${other.ca}`, /unknown authority/],
    [`sslmode=require&sslrootcert=${other.ca}`, /unknown authority/],
  ])("%s refuses another authority in one line", async (parameters, says) => {
    const { code, stderr } = await callRecon(["status"], { DATABASE_URL: withParameters(parameters) });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^recon: [^\\n]*${says.source}[^\\n]*\\n$`));
  });

  test("verify-full checks the name or the address that the URL has", async () => {
    const named = new URL(withParameters(`sslmode=verify-full&sslrootcert=${own.ca}`));
    named.hostname = "localhost";
    const { stderr } = await callRecon(["status"], { DATABASE_URL: named.href });
    expect(stderr).toMatch(/^recon: [^\n]* its certificate is for another name \([^\n]*\n$/);
  });

  test("a certificate of ours lets every kind of work in, and none or another's is refused in one line", async () => {
    const bearer = new URL(url);
    bearer.username = BEARER;
    bearer.password = "";
    const base = `${bearer.href}?sslmode=verify-full&sslrootcert=${own.ca}`;
    expect(await connectInEachWay(`${base}&sslcert=${own.cert}&sslkey=${own.key}`)).toEqual([true, true]);
    for (const [parameters, says] of [
      ["", /requires a valid client certificate/],
      [
        `&sslcert=${other.cert}&sslkey=${other.key}`,
        /(TLS was refused \(tlsv1 alert [a-z ]+\)\. Check the certificates|ECONNRESET)/,
      ],
    ] as const) {
      const { code, stderr } = await callRecon(["status"], { DATABASE_URL: base + parameters });
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^recon: [^\\n]*${says.source}[^\\n]*\\n$`));
    }
  });

  test.each([
    [`sslcert=${own.cert}&sslkey=${other.key}`, /cannot be used: key values mismatch/],
    [`sslcert=${own.key}&sslkey=${own.key}`, /cannot be used: no start line/],
    [`sslcert=${own.cert}`, /sslcert and sslkey belong together/],
  ])("%s is refused in words", (parameters, says) => {
    expect(() => readDatabaseUrl(withParameters(`sslmode=require&${parameters}`))).toThrow(says);
  });

  test("the authorities of Node are used too", async () => {
    const environment = { DATABASE_URL: withParameters("sslmode=verify-full"), NODE_EXTRA_CA_CERTS: own.ca };
    expect(await startRecon(["migrate"], environment).ended).toMatchObject({ code: 0 });
  });
});

test("of several hosts, the one that answers is used", async () => {
  const { host, port } = new URL(url);
  const several = url.replace(host, `127.0.0.1:1,127.0.0.1:${port}`);
  expect(await connectInEachWay(several)).toEqual([false, false]);
});

test("a socket is found by its folder", async () => {
  const target = new URL(url);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(join(own.folder, ".s.PGSQL.5432"));
  onTestFinished(() => {
    server.close();
  });
  const address = `postgres://${target.username}:${target.password}@${target.pathname}?host=${own.folder}`;
  expect(await connectInEachWay(address)).toEqual([false, false]);
});

test.each([
  ["postgres://u:pa#ss@host/db", /write % as %25, @ as %40, # as %23/],
  ["postgres://u:100%@host/db", /write % as %25/],
  ["postgres://u:a/b@host/db", /write % as %25/],
  ["postgres://u:p@host/db?sslmode=on", /sslmode must be one of disable, .* but is "on"/],
  ["postgres://u:p@host/db?sslmode=verify-ca", /needs sslrootcert/],
  ["postgres://u:p@host/db?sslrootcert=/none", /sslrootcert names \/none, which cannot be read \(ENOENT\)/],
  ["postgres://u:p@host/db?pgbouncer=true", /the parameter "pgbouncer" is not known/],
  ["postgres://u:p@host:99999/db", /is not a port/],
  ["mysql://u:p@host/db", /must be a URL that begins with postgres:/],
])("%s is refused in words, without the password", async (address, says) => {
  const { code, stderr } = await callRecon(["status"], { DATABASE_URL: address });
  expect(code).toBe(1);
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/pa#ss|100%@|a\/b|\n {4}at /);
});

test("every sign of a password and a user reaches the server", () => {
  const signs = "%@#/?:&=+ ü";
  const { user, password } = readDatabaseUrl(
    `postgres://${encodeURIComponent(signs)}:${encodeURIComponent(signs)}@host/db`,
  );
  expect([user, password]).toEqual([signs, signs]);
  const parameters = new URLSearchParams({ user: signs, password: signs });
  expect(readDatabaseUrl(`postgres://host/db?${parameters}`)).toMatchObject({ user: signs, password: signs });
  expect(warnOfDatabaseUrl("postgres://host/db?sslmode=require&channel_binding=require")).toMatch(
    /verify-full/,
  );
});
