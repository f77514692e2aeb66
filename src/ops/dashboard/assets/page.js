/** What every page does in the browser: stay up to date, and the small things that HTML alone cannot. */

import { keepLive } from "./live.js";
import { countSelected } from "./select.js";

keepLive();
countSelected();
