import { questionQuery } from "../../../src/mail/mail-lookup.js";
import type { MailQuery } from "../../../src/mail/search.js";
import { measureSearch, type SearchQuality } from "../../../src/questions/measure-search.js";
import { openMailbox } from "../../../src/tools/mailbox.js";
import { openPlainBm25 } from "./plain-bm25.js";
import { LAYOUTS, type Layout, type Part, STYLES, type StyledSet } from "./question-sets.js";

/** Ranks of one search over the styled questions of one part in one layout. */
export interface StyleQuality {
  readonly layout: Layout;
  readonly part: Part;
  readonly search: string;
  /** Whether the search receives the question's date. */
  readonly dated: boolean;
  readonly all: SearchQuality;
  readonly styles: Readonly<Record<(typeof STYLES)[number], SearchQuality>>;
}

type RankedSearch = (query: MailQuery) => readonly string[];

const SEARCHES: Readonly<Record<string, (set: StyledSet) => RankedSearch>> = {
  "art-e": ({ db }) => {
    const { search } = openMailbox(db);
    return (query) => search.bestFirst(query).hits.map(({ messageId }) => messageId);
  },
  "plain bm25": ({ db }) => openPlainBm25(db, { recency: false }),
  "bm25, recency": ({ db }) => openPlainBm25(db, { recency: true }),
};

/** The search compared with plain bm25 and with bm25 with a recency prior, with and without the question's date. */
export function benchStyles(sets: readonly StyledSet[]): StyleQuality[] {
  return LAYOUTS.flatMap((layout) =>
    sets
      .filter((set) => set.layout === layout)
      .flatMap((set) =>
        [true, false].flatMap((dated) =>
          Object.entries(SEARCHES).map(([search, open]) => measure(set, search, open(set), dated)),
        ),
      ),
  );
}

function measure(set: StyledSet, search: string, find: RankedSearch, dated: boolean): StyleQuality {
  const { mails, addresses } = openMailbox(set.db);
  const over = (questions: StyledSet["questions"]) =>
    measureSearch(
      questions,
      (question) => {
        const query = questionQuery(question, addresses);
        return find(dated ? query : { ...query, period: { after: null, before: null }, askedAt: null });
      },
      (id) => mails.canonicalId(id),
    );
  const [close, paraphrased, vague] = STYLES.map((style) => over(set.questions.filter((one) => one.style === style)));
  if (close === undefined || paraphrased === undefined || vague === undefined) throw new Error("three styles expected");
  const { layout, part } = set;
  return { layout, part, search, dated, all: over(set.questions), styles: { close, paraphrased, vague } };
}
