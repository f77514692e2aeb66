/** What every page does in the browser: it stays up to date, and counts the selected rows. */

import { keepLive } from "./live.js";
import { countSelected } from "./select.js";

keepLive();
countSelected();
