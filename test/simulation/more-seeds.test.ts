import { describeSeeds } from "./describe-seeds.ts";
import { PLAYED } from "./seeds.ts";

describeSeeds(PLAYED.filter((_, index) => index % 2 === 1));
