import { differenceText } from "../../../src/reports/wording.js";
import { estimate, share, table } from "../../../src/text/format.js";
import { benchMisspelled, type MisspelledQuality } from "./bench-misspelled.js";
import { benchSearchQuality } from "./bench-search-quality.js";
import { benchStyles, type StyleQuality } from "./bench-styles.js";
import { benchJudgedTopics, type JudgedTopics } from "./judged-topics.js";
import { openSets, openStyledSets, STYLES } from "./question-sets.js";

/** Folders with collections that are not part of the project, or undefined if they are missing. */
export interface Rulers {
  /** Real mail, in ART_E_ENRON. */
  readonly enron: string | undefined;
  /** Judged topics, in ART_E_RULERS. */
  readonly topics: string | undefined;
}

/** Prints all available rulers. Returns false if the search is significantly worse than plain bm25 on any of them. */
export async function printSearchQuality(rulers: Rulers, folder: string, asJson: boolean): Promise<boolean> {
  const topics = rulers.topics === undefined ? null : await benchJudgedTopics(rulers.topics, folder);
  const known = rulers.enron === undefined ? null : benchKnownItems(rulers.enron, folder);
  console.log(
    asJson
      ? JSON.stringify({ topics, ...known }, null, 2)
      : [...(topics === null ? [] : [topicsTable(topics)]), ...(known === null ? [] : knownTables(known))].join("\n\n"),
  );
  const differences = [
    ...(topics === null ? [] : Object.values(topics.differences)),
    ...(known?.differences.map(({ difference }) => difference) ?? []),
  ];
  return !differences.some(({ high }) => high !== null && high < 0);
}

/** Questions about one email each. */
function benchKnownItems(enron: string, folder: string) {
  const styledSets = openStyledSets(enron, folder);
  const styles = benchStyles(styledSets);
  for (const { db } of styledSets) if (db.open) db.close();
  const questionSets = openSets(enron, folder);
  const { sets, differences } = benchSearchQuality(questionSets);
  const misspelled = benchMisspelled(questionSets);
  for (const { db } of questionSets) if (db.open) db.close();
  return { styles, sets, differences, misspelled };
}

function knownTables({ styles, sets, differences, misspelled }: ReturnType<typeof benchKnownItems>): string[] {
  return [
    stylesTable(styles),
    table(
      ["questions", "part", "hit@1", "hit@10", "MRR@10"],
      sets.map(({ set, part, quality: { estimates } }) => [
        set,
        part,
        share(estimates.recallAt1.value),
        estimate(estimates.recallAt10),
        estimate(estimates.mrrAt10),
      ]),
    ),
    table(
      ["MRR@10, ours less", "questions", "difference", "better / worse"],
      differences.map(({ less, sets: over, difference, better, worse }) => [
        less,
        over,
        differenceText(difference),
        `${better} / ${worse}`,
      ]),
    ),
    misspelledTable(misspelled),
  ];
}

function topicsTable({ searches, differences }: JudgedTopics): string {
  const rows = searches.map(({ search, queries, all, judged }) => [search, String(queries), share(all), share(judged)]);
  const difference = [differences.all, differences.judged].map((one) => differenceText(one));
  return table(
    ["judged topics, nDCG@10", "queries", "all emails", "judged emails"],
    [...rows, ["art-e minus FTS5 without stop words", "", ...difference]],
  );
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
    ["misspelled", "part", "n", "hit@10", "corrected", "MRR@10", "corrected", "difference", "by its corrector"],
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
