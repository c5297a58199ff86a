import { compact } from "../../src/platform/optional-values.js";
import { differenceText } from "../../src/reports/figure-text.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { estimate, share, table } from "../../src/text/format.js";
import { benchMisspelled, type MisspelledQuality } from "./bench-misspelled.js";
import { benchJudgedTopics, type TopicQuality } from "./judged-topics.js";
import { benchKnownItems, type KnownItemQuality } from "./known-items.js";
import { openSets, openStyledSets, STYLES } from "./question-sets.js";

/** Folders with collections that are not part of the project, or undefined if they are missing. */
export interface Rulers {
  /** Real mail, in ART_E_ENRON. */
  readonly enron: string | undefined;
  /** Judged topics, in ART_E_RULERS. */
  readonly topics: string | undefined;
}

/** Prints all available rulers. Returns false if the search is significantly worse than another one on any of them. */
export async function printSearchQuality(rulers: Rulers, folder: string, asJson: boolean): Promise<boolean> {
  const topics = rulers.topics === undefined ? [] : await benchJudgedTopics(rulers.topics, folder);
  const { items, misspelled } =
    rulers.enron === undefined ? { items: [], misspelled: [] } : benchQuestions(rulers.enron, folder);
  const tables = compact([
    topics.length > 0 && topicsTable(topics),
    items.length > 0 && itemsTable(items),
    misspelled.length > 0 && misspelledTable(misspelled),
  ]);
  console.log(asJson ? JSON.stringify({ topics, items, misspelled }, null, 2) : tables.join("\n\n"));
  const differences = [
    ...topics.flatMap(({ difference }) => (difference === null ? [] : [difference.all, difference.judged])),
    ...items.flatMap(({ difference }) => difference ?? []),
  ];
  return !differences.some(({ high }) => high !== null && high < 0);
}

function benchQuestions(enron: string, folder: string) {
  const sets = openSets(enron, folder);
  const all = [...sets, ...openStyledSets(enron, folder)];
  const measured = { items: benchKnownItems(all), misspelled: benchMisspelled(sets) };
  for (const db of new Set(all.map((set) => set.db))) db.close();
  return measured;
}

function topicsTable(lines: readonly TopicQuality[]): string {
  return table(
    ["judged topics, nDCG@10", "queries", "all emails", "art-e less it", "judged emails", "art-e less it"],
    lines.map(({ search, queries, all, judged, difference }) => [
      search,
      String(queries),
      share(all),
      lessText(difference?.all),
      share(judged),
      lessText(difference?.judged),
    ]),
  );
}

function itemsTable(lines: readonly KnownItemQuality[]): string {
  return table(
    ["questions", "part", "n", "search", "hit@1", "hit@10", "MRR@10", "art-e less it", "close / paraphrased / vague"],
    lines.map(({ set, part, search, quality, styles, difference }) => [
      set,
      part,
      String(quality.questions),
      search,
      interval(quality.estimates.recallAt1),
      interval(quality.estimates.recallAt10),
      interval(quality.estimates.mrrAt10),
      lessText(difference),
      styles === null ? "" : STYLES.map((style) => share(styles[style])).join(" / "),
    ]),
  );
}

/** An estimate without its n, which has a column of its own. */
const interval = (one: Estimate) => estimate(one).replace(/ n=\d+$/, "");

const lessText = (difference: Estimate | null | undefined) => (difference == null ? "" : differenceText(difference));

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
