// The command `search`: what an agent would find.
import { z } from "zod";
import { day, oneOf, person, text, toggle, wholeNumber } from "../../platform/flag-values.js";
import { correctedWords, explainedScore, searchHits } from "../../reports/search-text.js";
import { optionalMailbox } from "../flags/argument-schemas.js";
import { defineCommand } from "../flags/define-command.js";

const ORDERS = ["best", "newest"] as const;

export const searchCommand = defineCommand(
  z.object({
    mailbox: optionalMailbox,
    words: z
      .array(text)
      .meta({ description: "Words to search for, or an entire question. A mailbox alone lists its newest emails" }),
    limit: wholeNumber(1, 50).default(10).meta({ description: "Number of emails, from 1 to 50", alias: "l" }),
    order: oneOf(ORDERS)
      .default("best")
      .meta({ description: "Order: best (as email_search), or newest (as search_emails, which requires all words)" }),
    from: person.optional().meta({ description: "Only emails from this address or name" }),
    to: person.optional().meta({ description: "Only emails with this address or name in To, Cc or Bcc" }),
    after: day.optional().meta({ description: "Only emails sent on or after this date" }),
    before: day.optional().meta({ description: "Only emails sent before this date" }),
    cutoff: day.optional().meta({ description: "Search like for a question with this date (later emails are hidden)" }),
    explain: toggle.meta({ description: "Show the parts of each score and which words were corrected" }),
  }),
  async (flags, { settings, out }) => {
    const { searchMailbox, explainSearch } = await import("../../tools/search-mailbox.js");
    if (flags.explain) {
      const explained = await explainSearch(flags, settings);
      const scores = explained.emails.map(({ score }) => explainedScore(score));
      out.result(explained, () =>
        [correctedWords(explained.corrections), searchHits(explained, { explanations: scores })]
          .filter(Boolean)
          .join("\n\n"),
      );
    } else {
      const { value, isListing } = await searchMailbox(flags, settings);
      out.result(value, () => searchHits(value, { isListing }));
    }
  },
);
