/** What every page does in the browser: it reports its zone, stays up to date, and counts the selected rows. */

import { keepLive } from "./live.js";
import { countSelected } from "./select.js";
import { reportZone } from "./zone.js";

reportZone();
keepLive();
countSelected();
