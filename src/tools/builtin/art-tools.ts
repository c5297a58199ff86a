import { z } from "zod";
import { defineHandler, textArgument } from "../tool-handler.js";
import { prepareQuery } from "./search-query.js";

const day = z.iso.date();

/**
 * ART's search: all keywords, unstemmed; mail from or to the user's address, wherever it was filed; exact
 * addresses; newest first, at most 10. Result: `[{message_id, snippet}]`. Unlike ART's it names a mail by one
 * Message-ID for all its copies, hides mail from after a task's day, and rejects invalid dates.
 */
export const searchEmails = defineHandler({
  args: z.object({
    keywords: z.array(textArgument(1_000)).min(1).max(100, "expected at most 100 keywords"),
    from_addr: textArgument(1_000).optional(),
    to_addr: textArgument(1_000).optional(),
    sent_after: day.optional(),
    sent_before: day.optional(),
    max_results: z.number().int().min(1).max(10).default(10),
  }),
  config: z.strictObject({}),
  call(args, context, { mailbox }) {
    const prepared = prepareQuery(
      {
        words: "",
        from: args.from_addr,
        to: args.to_addr,
        sentAfter: args.sent_after,
        sentBefore: args.sent_before,
        limit: args.max_results,
        addressFilter: "exact",
      },
      context,
      mailbox,
    );
    if (!prepared.ok) return prepared;
    if (prepared.query === null) return { ok: true, value: [] };
    const { inboxId, ...query } = prepared.query;
    const hits = mailbox.artSearch({ ...query, keywords: args.keywords, namedId: inboxId });
    return { ok: true, value: hits.map((hit) => ({ message_id: hit.messageId, snippet: hit.snippet })) };
  },
});
