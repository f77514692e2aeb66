import { describePlays } from "./describe-plays.ts";
import { PLAYS } from "./seeds.ts";

describePlays(PLAYS.filter((_, index) => index % 2 === 1));
