import { questionQuery } from "../../src/mail/mail-lookup.js";
import {
  measureSearch,
  reciprocalRank,
  type SearchForQuestion,
  type SearchQuality,
} from "../../src/questions/measure-search.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { pairedDifference } from "../../src/statistics/significance.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { type Part, type QuestionSet, STYLES, type Style } from "./question-sets.js";
import { OURS, SEARCHES } from "./searches.js";

/** One search over the questions of one set, each about one email. */
export interface KnownItemQuality {
  readonly set: string;
  readonly part: Part;
  readonly search: string;
  readonly quality: SearchQuality;
  /** MRR@10 by style, or null for questions without one. */
  readonly styles: Readonly<Record<Style, number | null>> | null;
  /** MRR@10 of art-e minus that of this search, in pairs. Null for art-e itself. */
  readonly difference: Estimate | null;
}

const DEPTH = 10;

export function benchKnownItems(sets: readonly QuestionSet[]): KnownItemQuality[] {
  return sets.flatMap((set) => {
    const measured = Object.entries(SEARCHES).map(([search, open]) => {
      const { addresses } = openMailbox(set.db);
      const find = open(set.db, DEPTH);
      const undated = { period: { after: null, before: null }, askedAt: null };
      return {
        search,
        quality: measure(set, (question) => {
          const query = questionQuery(question, addresses);
          return find(set.dated ? query : { ...query, ...undated });
        }),
      };
    });
    const ours = measured.find(({ search }) => search === OURS)?.quality;
    return measured.map(({ search, quality }) => ({
      set: set.name,
      part: set.part,
      search,
      quality,
      styles: byStyle(set, quality),
      difference: ours === undefined || search === OURS ? null : pairedDifference(pairRanks(ours, quality)),
    }));
  });
}

export function measure(
  { questions, db }: Pick<QuestionSet, "questions" | "db">,
  find: SearchForQuestion,
): SearchQuality {
  const { mails } = openMailbox(db);
  return measureSearch(questions, find, (id) => mails.canonicalId(id));
}

/** Reciprocal ranks of ours minus theirs, question by question. */
export function pairRanks(ours: SearchQuality, theirs: SearchQuality): number[] {
  return ours.ranks.map((rank, i) => reciprocalRank(rank) - reciprocalRank(theirs.ranks[i] ?? rank));
}

function byStyle({ questions }: QuestionSet, { ranks }: SearchQuality): KnownItemQuality["styles"] {
  const styleOf = new Map(questions.map(({ id, style }) => [id, style]));
  const [close, paraphrased, vague] = STYLES.map((style) => {
    const ofStyle = ranks.filter(({ id }) => styleOf.get(id) === style).map(reciprocalRank);
    return ofStyle.length === 0 ? null : ofStyle.reduce((sum, one) => sum + one, 0) / ofStyle.length;
  }) as [number | null, number | null, number | null];
  return close === null ? null : { close, paraphrased, vague };
}
