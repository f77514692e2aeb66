/** A process that closes and corrects once, and that a test can kill. Arguments: the database, the settings as JSON. */

import { closeAndCorrect } from "./close-and-correct.ts";

const [url = "", settings = "{}"] = process.argv.slice(2);
await closeAndCorrect(url, JSON.parse(settings));
