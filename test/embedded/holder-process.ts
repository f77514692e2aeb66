/** A command of its own that holds a server, so that tests can kill it: argv is `postgres <home>` or `redis <cache>`. */
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { startRedis } from "../../src/embedded/redis.ts";

const [kind, folder = "", mode] = process.argv.slice(2);
const server =
  kind === "redis"
    ? await startRedis({ cache: folder })
    : await startEmbeddedPostgres({ home: folder, settings: { fsync: "off" } });
// Ctrl-C means: finish your work first. Whoever reads the line below may press it at once.
process.on("SIGINT", () => process.stdout.write("interrupted\n"));
process.stdout.write(`${JSON.stringify(server)}\n`);
// In mode "exit" there is nothing left to do.
if (mode !== "exit") process.stdin.resume();
