import { differenceText } from "../../../src/reports/wording.js";
import { estimate, share, table } from "../../../src/text/format.js";
import { benchMisspelled, type MisspelledQuality } from "./bench-misspelled.js";
import { benchSearchQuality } from "./bench-search-quality.js";
import { benchStyles, type StyleQuality } from "./bench-styles.js";
import { openSets, openStyledSets, STYLES } from "./question-sets.js";

/** `enron`: the folder of real mail in ART_E_ENRON. */
export function printSearchQuality(enron: string, folder: string, asJson: boolean): void {
  const styledSets = openStyledSets(enron, folder);
  const styles = benchStyles(styledSets);
  for (const { db } of styledSets) if (db.open) db.close();
  const questionSets = openSets(enron, folder);
  const { sets, differences } = benchSearchQuality(questionSets);
  const misspelled = benchMisspelled(questionSets);
  for (const { db } of questionSets) if (db.open) db.close();
  if (asJson) {
    console.log(JSON.stringify({ styles, sets, differences, misspelled }, null, 2));
    return;
  }
  console.log(`${stylesTable(styles)}\n`);
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
  console.log(`\n${misspelledTable(misspelled)}`);
}

function stylesTable(lines: readonly StyleQuality[]): string {
  const styleColumns = STYLES.flatMap((style) => [`${style} R@10`, "MRR"]);
  return table(
    ["mailboxes", "part", "search", "date", "R@1", "R@5", "R@10", "MRR@10", ...styleColumns],
    lines.map(({ layout, part, search, dated, all, styles }) => [
      layout,
      part,
      search,
      dated ? "given" : "none",
      ...[all.recallAt1, all.recallAt5, all.recallAt10, all.mrrAt10].map(share),
      ...STYLES.flatMap((style) => [share(styles[style].recallAt10), share(styles[style].mrrAt10)]),
    ]),
  );
}

function misspelledTable(lines: readonly MisspelledQuality[]): string {
  return table(
    ["misspelled", "part", "n", "recall@10", "corrected", "MRR@10", "corrected", "difference", "by its corrector"],
    lines.map(({ misspelling, part, questions, recallAt10, mrrAt10, difference, ofCorrector }) => [
      misspelling,
      part,
      String(questions),
      ...[recallAt10.before, recallAt10.after, mrrAt10.before, mrrAt10.after].map(share),
      differenceText(difference),
      ofCorrector === null ? "" : differenceText(ofCorrector),
    ]),
  );
}
