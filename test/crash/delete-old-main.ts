/** A process that deletes old bets, and that a test can kill. Arguments: the database, the settings as JSON. */

import { deleteOld } from "./delete-old.ts";

const [url = "", settings = "{}"] = process.argv.slice(2);
await deleteOld(url, JSON.parse(settings));
