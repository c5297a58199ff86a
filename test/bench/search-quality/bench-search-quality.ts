import { questionQuery } from "../../../src/mail/mail-lookup.js";
import { TERM_CORRECTORS } from "../../../src/mail/search/spelling.js";
import { openMailSearch } from "../../../src/mail/search.js";
import { measureSearch, reciprocalRank, type SearchQuality } from "../../../src/questions/measure-search.js";
import type { Estimate } from "../../../src/statistics/estimate.js";
import { pairedDifference } from "../../../src/statistics/significance.js";
import { openMailbox } from "../../../src/tools/mailbox.js";
import { openPlainBm25 } from "./plain-bm25.js";
import type { Part, QuestionSet } from "./question-sets.js";

interface SetQuality {
  readonly set: string;
  readonly part: Part;
  readonly quality: SearchQuality;
}

/** MRR@10 of the search minus that of another search, in pairs. */
interface QualityDifference {
  readonly less: string;
  readonly sets: string;
  readonly difference: Estimate;
  readonly better: number;
  readonly worse: number;
}

export interface SearchQualityBench {
  readonly sets: readonly SetQuality[];
  readonly differences: readonly QualityDifference[];
}

/** The search and plain bm25 over sets of questions about real mail. */
export function benchSearchQuality(sets: readonly QuestionSet[]): SearchQualityBench {
  const measured = sets.map((set) => ({ set, quality: measureWith()(set) }));
  const pairs = measured.map(({ set, quality }) => ({ set, ranks: pairRanks(quality, measurePlain(set)) }));
  const over = (sets: string, isIn: (set: QuestionSet) => boolean) =>
    toDifference(
      "plain bm25, any word",
      sets,
      pairs.filter(({ set }) => isIn(set)).flatMap(({ ranks }) => ranks),
    );
  const differences = [
    ...sets.map((one) => over(`${one.name} (${one.part})`, (set) => set === one)),
    over("all of tune", ({ part }) => part === "tune"),
    over("all of test", ({ part }) => part === "test"),
  ];
  return { sets: measured.map(({ set: { name, part }, quality }) => ({ set: name, part, quality })), differences };
}

export function measureWith(correctors = TERM_CORRECTORS) {
  return ({ questions, db }: Pick<QuestionSet, "questions" | "db">): SearchQuality => {
    const { mails, addresses } = openMailbox(db);
    const search = openMailSearch(db, correctors);
    return measureSearch(
      questions,
      (question) => search.bestFirst(questionQuery(question, addresses)).hits.map(({ messageId }) => messageId),
      (id) => mails.canonicalId(id),
    );
  };
}

function measurePlain({ questions, db }: QuestionSet): SearchQuality {
  const { mails, addresses } = openMailbox(db);
  const search = openPlainBm25(db, { recency: false });
  return measureSearch(
    questions,
    (question) => search(questionQuery(question, addresses)),
    (id) => mails.canonicalId(id),
  );
}

/** Reciprocal ranks of ours minus theirs, question by question. */
export function pairRanks(ours: SearchQuality, theirs: SearchQuality): number[] {
  return ours.ranks.map((rank, i) => reciprocalRank(rank) - reciprocalRank(theirs.ranks[i] ?? rank));
}

function toDifference(less: string, sets: string, differences: readonly number[]): QualityDifference {
  return {
    less,
    sets,
    difference: pairedDifference(differences),
    better: differences.filter((one) => one > 0).length,
    worse: differences.filter((one) => one < 0).length,
  };
}
