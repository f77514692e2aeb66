/** A process that holds a server and that tests can kill. Arguments: `postgres <home>` or `redis <cache>`. */
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { startRedis } from "../support/redis-server.ts";

const [kind, folder = "", mode] = process.argv.slice(2);
const server =
  kind === "redis"
    ? await startRedis({ cache: folder })
    : await startEmbeddedPostgres({ home: folder, settings: { fsync: "off" } });
// Ctrl-C means: finish your work first. The handler stands before the line below is printed, because the test may then press
// Ctrl-C at once.
process.on("SIGINT", () => process.stdout.write("interrupted\n"));
process.stdout.write(`${JSON.stringify(server)}\n`);
// In mode "exit" nothing is left to do.
if (mode !== "exit") process.stdin.resume();
