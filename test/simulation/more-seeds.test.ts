import { describeSeeds } from "./describe-seeds.ts";
import { SEEDS } from "./seeds.ts";

describeSeeds(SEEDS.filter((_, index) => index % 2 === 1));
