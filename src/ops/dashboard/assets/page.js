/**
 * What every page does in the browser: it reports its zone, stays up to date, keeps ages, counts the selected rows, obeys keys, and
 * draws charts.
 */

import { keepAges } from "./ago.js";
import { drawCharts } from "./charts.js";
import { openByKeys } from "./keys.js";
import { keepLive } from "./live.js";
import { countSelected } from "./select.js";
import { reportZone } from "./zone.js";

reportZone();
openByKeys();
keepLive();
keepAges();
countSelected();
drawCharts();
