import { differenceText } from "../../../src/reports/text/difference-text.js";
import { estimate } from "../../../src/reports/text/format-estimate.js";
import { share } from "../../../src/reports/text/format-number.js";
import { table } from "../../../src/reports/text/text-table.js";
import { benchSearchQuality } from "./bench-search-quality.js";

/** `enron`: the folder of real mail that ART_E_ENRON names. */
export function printSearchQuality(enron: string, folder: string, asJson: boolean): void {
  const { sets, differences } = benchSearchQuality(enron, folder);
  if (asJson) {
    console.log(JSON.stringify({ sets, differences }, null, 2));
    return;
  }
  console.log(
    table(
      ["questions", "part", "recall@1", "recall@10", "MRR@10"],
      sets.map(({ set, part, quality: { estimates } }) => [
        set,
        part,
        share(estimates.recallAt1.value),
        estimate(estimates.recallAt10),
        estimate(estimates.mrrAt10),
      ]),
    ),
  );
  console.log(
    `\n${table(
      ["MRR@10, ours less", "questions", "difference", "better / worse"],
      differences.map(({ less, sets: over, difference, better, worse }) => [
        less,
        over,
        differenceText(difference),
        `${better} / ${worse}`,
      ]),
    )}`,
  );
}
