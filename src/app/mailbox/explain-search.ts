import { UserError } from "../../domain/errors.js";
import { endOfDay } from "../../store/search/date-range.js";
import type { ScoreExplanation } from "../../store/search/ranking/explain-score.js";
import type { TermCorrection } from "../../store/search/spelling-correction/correct-terms.js";
import { toResult } from "../../tools/builtin/email-search.js";
import { prepareQuery } from "../../tools/builtin/search-query.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { resolveInbox } from "../chat/resolve-inbox.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import type { SearchOptions } from "./search-mailbox.js";

/** A result of email_search, each of its mails with its score, and the words that were searched for in another form. */
export interface ExplainedSearch {
  readonly emails: readonly (ReturnType<typeof toResult> & { readonly score: ScoreExplanation })[];
  readonly total: number;
  readonly corrections: readonly TermCorrection[];
}

/** The hits of email_search, and what an agent is not told: which part of each score comes from what. */
export function explainSearch(options: SearchOptions, settings: AppSettings): Promise<ExplainedSearch> {
  if (options.order !== "best") {
    throw new UserError(
      "flag_invalid",
      "--explain is about scores, which --order newest has none of.",
      "Leave out one of the two.",
    );
  }
  return withStore(settings, async (db) => {
    const mailbox = openMailbox(db);
    const prepared = prepareQuery(
      {
        words: options.words.join(" "),
        inbox: undefined,
        from: options.from,
        to: options.to,
        sentAfter: options.after,
        sentBefore: options.before,
        limit: options.limit,
        addressFilter: "containing",
      },
      {
        inbox: resolveInbox(db, options.inbox_address),
        cutoff: options.cutoff === undefined ? null : endOfDay(options.cutoff),
        signal: new AbortController().signal,
      },
      mailbox,
    );
    if (!prepared.ok) throw new UserError("search_refused", prepared.error, "See art-e search --help.");
    if (prepared.query === null) return { emails: [], total: 0, corrections: [] };
    const { hits, total, corrections } = mailbox.search.explainBestFirst(prepared.query);
    return { emails: hits.map((hit) => ({ ...toResult(hit), score: hit.explanation })), total, corrections };
  });
}
