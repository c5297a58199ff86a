import { z } from "zod";
import { correctedWords, explainedScore, searchHits } from "../../reports/search-text.js";
import { day, defineCommand, oneOf, text, wholeNumber } from "../read-flags.js";

const ORDERS = ["best", "newest"] as const;

export const searchCommand = defineCommand(
  z.object({
    inbox_address: text.meta({ description: "The mailbox: its email address" }),
    words: z
      .array(text)
      .min(1, "expected words to look for")
      .meta({ description: "What to look for; a whole question is fine" }),
    limit: wholeNumber(1, 50).default(10).meta({ description: "Mails to show, 1-50", alias: "l" }),
    order: oneOf(ORDERS)
      .default("best")
      .meta({ description: "best (email_search), newest (search_emails: all words)" }),
    from: text.optional().meta({ description: "Only mail sent by this address" }),
    to: text.optional().meta({ description: "Only mail to, cc or bcc this address" }),
    after: day.optional().meta({ description: "Only mail sent on or after this day" }),
    before: day.optional().meta({ description: "Only mail sent before this day" }),
    cutoff: day.optional().meta({ description: "As for a question of this day: later mail is invisible" }),
    explain: z
      .boolean()
      .default(false)
      .meta({ description: "Show where each hit's score comes from, and which words were corrected" }),
  }),
  async (flags, { settings, out }) => {
    const { searchMailbox, explainSearch } = await import("../../tools/search-mailbox.js");
    if (flags.explain) {
      const found = await explainSearch(flags, settings);
      const scores = found.emails.map(({ score }) => explainedScore(score));
      out.result(found, () =>
        [correctedWords(found.corrections), searchHits(found, scores)].filter(Boolean).join("\n\n"),
      );
    } else {
      const value = await searchMailbox(flags, settings);
      out.result(value, () => searchHits(value));
    }
  },
);
