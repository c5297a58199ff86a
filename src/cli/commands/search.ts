import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import { correctedWords, explainedScore, searchHits } from "../../reports/search-text.js";
import type { Command } from "../command.js";
import { day, oneOf, readFlags, text, wholeNumber } from "../read-flags.js";

const ORDERS = ["best", "newest"] as const;

const schema = z.object({
  inbox_address: text,
  words: z.array(z.coerce.string()).min(1, "expected words to look for"),
  limit: wholeNumber(1, 50).default(10),
  order: oneOf(ORDERS).default("best"),
  from: text.optional(),
  to: text.optional(),
  after: day.optional(),
  before: day.optional(),
  cutoff: day.optional(),
  explain: z.boolean().default(false),
});

export const searchCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    words: { type: "string", array: true, describe: "What to look for; a whole question is fine" },
  },
  flags: {
    limit: { alias: "l", type: "number", requiresArg: true, describe: "Mails to show, 1-50 [default: 10]" },
    order: {
      type: "string",
      requiresArg: true,
      describe: "best (email_search), newest (search_emails: all words) [default: best]",
    },
    from: { type: "string", requiresArg: true, describe: "Only mail sent by this address" },
    to: { type: "string", requiresArg: true, describe: "Only mail to, cc or bcc this address" },
    after: { type: "string", requiresArg: true, describe: "Only mail sent on or after this day" },
    before: { type: "string", requiresArg: true, describe: "Only mail sent before this day" },
    cutoff: {
      type: "string",
      requiresArg: true,
      describe: "As for a question of this day: later mail is invisible",
    },
    explain: {
      type: "boolean",
      describe: "Show where each hit's score comes from, and which words were corrected",
    },
  },
  async run(argv, { settings, out }) {
    const flags = readFlags("search", schema, argv);
    const { searchMailbox, explainSearch } = await import("../../tools/mailbox-commands.js");
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
    return EXIT.done;
  },
};
