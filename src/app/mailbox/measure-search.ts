import { measureSearch, type SearchQuality } from "../../run-analysis/search-quality.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import {
  type DatasetOptions,
  loadDataset,
  noteKnownBad,
  type SelectionOptions,
  select,
} from "../questions/load-dataset.js";
import { checkMailboxes } from "../run/plan/check-mailboxes.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { questionQuery } from "./question-query.js";

export interface MeasuredSearch {
  readonly quality: SearchQuality;
  /** Where the questions are from. */
  readonly source: string;
}

/** How well the search of email_search finds the gold mails, with each question itself as the query. */
export function measureMailSearch(
  options: DatasetOptions & SelectionOptions & { readonly limit: number },
  context: AppContext,
): Promise<MeasuredSearch> {
  return withStore(context.settings, async (db) => {
    const set = await loadDataset(options, context);
    noteKnownBad(set, options, context);
    const questions = select(set, options, options.limit);
    checkMailboxes(db, questions);
    const { search, mails, addresses } = openMailbox(db);
    const quality = measureSearch(
      questions,
      (question) => search.bestFirst(questionQuery(question, addresses)).hits.map((hit) => hit.messageId),
      (id) => mails.canonicalId(id),
    );
    return { quality, source: set.source };
  });
}
