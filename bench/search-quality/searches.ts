import { openArtSearch } from "../../src/mail/art-search.js";
import { contentTokens } from "../../src/mail/fts5-query.js";
import { type MailQuery, openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { openPlainBm25 } from "./plain-bm25.js";

/** Returns Message-IDs, best first. */
export type RankedSearch = (query: MailQuery) => readonly string[];

export const OURS = "art-e";
export const WITHOUT_STOP_WORDS = "FTS5 bm25, no stop words";
export const ALL_WORDS = "FTS5 bm25, all words";

/** The searches that each ruler compares. All find emails in one mailbox by the question or topic itself. */
export const SEARCHES: Readonly<Record<string, (db: Db, limit: number) => RankedSearch>> = {
  [OURS]: (db) => {
    const search = openMailSearch(db);
    return (query) => search.bestFirst(query).hits.map(({ messageId }) => messageId);
  },
  [WITHOUT_STOP_WORDS]: (db, limit) => openPlainBm25(db, { stopWords: false, limit }),
  [ALL_WORDS]: (db, limit) => openPlainBm25(db, { limit }),
  "FTS5 bm25, recency": (db, limit) => openPlainBm25(db, { recency: true, limit }),
  /** Emails with all content words, newest first. */
  "ART's SQL": (db) => {
    const search = openArtSearch(db);
    return ({ words, inboxId, ...query }) => {
      if (inboxId === null) throw new Error("ART's search needs a mailbox");
      return search({ ...query, keywords: contentTokens(words), namedId: inboxId }).map(({ messageId }) => messageId);
    };
  },
};
