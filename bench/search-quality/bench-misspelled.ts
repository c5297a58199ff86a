import { openAddressBook } from "../../src/mail/address-book.js";
import { questionQuery } from "../../src/mail/mail-lookup.js";
import { openSearchIndex } from "../../src/mail/search/postings.js";
import { TERM_CORRECTORS } from "../../src/mail/search/spelling.js";
import { openMailSearch } from "../../src/mail/search.js";
import { type GoldRank, reciprocalRank, type SearchQuality } from "../../src/questions/measure-search.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { pairedDifference } from "../../src/statistics/significance.js";
import { seeded } from "../../test/random.js";
import { measure, pairRanks } from "./known-items.js";
import { type KnownWords, MISSPELLINGS, type Misspelling, misspell } from "./misspell-question.js";
import type { Part, QuestionSet } from "./question-sets.js";

/** Questions with one misspelled word, searched as typed and with unknown words corrected. */
export interface MisspelledQuality {
  readonly misspelling: string;
  readonly part: Part;
  readonly questions: number;
  readonly recallAt10: Compared;
  readonly mrrAt10: Compared;
  /** MRR@10 after the correction minus before it. */
  readonly difference: Estimate;
  /** MRR@10 of all correctors minus that without the relevant one, or null for the unchanged questions. */
  readonly ofCorrector: Estimate | null;
}

interface Compared {
  readonly before: number;
  readonly after: number;
}

const SEED = 1;
const AS_WRITTEN = "none";

/** The misspellings over all sets of a part. The first line is for the unchanged questions. */
export function benchMisspelled(sets: readonly QuestionSet[]): MisspelledQuality[] {
  return (["tune", "test"] as const).flatMap((part) =>
    [null, ...MISSPELLINGS].map((misspelling) => {
      const pairs = sets
        .filter((set) => set.part === part)
        .map((set) => measurePair(misspelling === null ? set : misspellSet(set, misspelling), misspelling));
      const before = pairs.flatMap((pair) => pair.before.ranks);
      const after = pairs.flatMap((pair) => pair.after.ranks);
      return {
        misspelling: misspelling?.name ?? AS_WRITTEN,
        part,
        questions: after.length,
        recallAt10: { before: recallOf(before), after: recallOf(after) },
        mrrAt10: { before: mrrOf(before), after: mrrOf(after) },
        difference: pairedDifference(pairs.flatMap((pair) => pairRanks(pair.after, pair.before))),
        ofCorrector:
          misspelling === null ? null : pairedDifference(pairs.flatMap((pair) => pairRanks(pair.after, pair.without))),
      };
    }),
  );
}

function recallOf(ranks: readonly GoldRank[]): number {
  return ranks.filter(({ rank }) => rank !== null).length / ranks.length;
}

function mrrOf(ranks: readonly GoldRank[]): number {
  return ranks.reduce((sum, rank) => sum + reciprocalRank(rank), 0) / ranks.length;
}

function measurePair(set: Pick<QuestionSet, "questions" | "db">, misspelling: Misspelling | null) {
  const others = TERM_CORRECTORS.filter(({ name }) => name !== misspelling?.corrector);
  return {
    before: measureWith([], set),
    after: measureWith(TERM_CORRECTORS, set),
    without: measureWith(others, set),
  };
}

function measureWith(correctors: typeof TERM_CORRECTORS, set: Pick<QuestionSet, "questions" | "db">): SearchQuality {
  const addresses = openAddressBook(set.db);
  const search = openMailSearch(set.db, correctors);
  return measure(set, (question) =>
    search.bestFirst(questionQuery(question, addresses)).hits.map(({ messageId }) => messageId),
  );
}

function misspellSet({ questions, db }: QuestionSet, misspelling: Misspelling): Pick<QuestionSet, "questions" | "db"> {
  const random = seeded(SEED);
  const addresses = openAddressBook(db);
  const index = openSearchIndex(db)();
  const holds = (inboxId: number | null, words: string) => index.postingsOf(words, inboxId).rowids.length > 0;
  return {
    db,
    questions: questions.flatMap((question) => {
      const mail: KnownWords = {
        standTogether: (words) => holds(addresses.idOf(question.inbox_address), words),
        isWord: (word) => holds(null, word),
      };
      return misspell(question, misspelling, random, mail) ?? [];
    }),
  };
}
