import { z } from "zod";
import type { MailHit } from "../../store/search/mail-search.js";
import { defineHandler, textArgument } from "../tool-handler.js";
import { prepareQuery } from "./search-query.js";

const day = z.iso.date();

/**
 * All words first, best match fills up. Result: `{emails: [{message_id, subject, sender, date, snippet, match}],
 * total}`.
 */
export const emailSearch = defineHandler({
  args: z.object({
    query: textArgument(10_000),
    inbox_id: textArgument(1_000).optional(),
    limit: z.number().int().min(1).max(50).default(10),
    from: textArgument(1_000).optional(),
    to: textArgument(1_000).optional(),
    sent_after: day.optional(),
    sent_before: day.optional(),
  }),
  config: z.strictObject({}),
  call(args, context, { mailbox }) {
    const prepared = prepareQuery(
      {
        words: args.query,
        inbox: args.inbox_id,
        from: args.from,
        to: args.to,
        sentAfter: args.sent_after,
        sentBefore: args.sent_before,
        limit: args.limit,
        addressFilter: "containing",
      },
      context,
      mailbox,
    );
    if (!prepared.ok) return prepared;
    if (prepared.query === null) return { ok: true, value: { emails: [], total: 0 } };
    const { hits, total } = mailbox.search.bestFirst(prepared.query);
    return { ok: true, value: { emails: hits.map(toResult), total } };
  },
});

/** A hit as the agent gets it. */
export function toResult(hit: MailHit) {
  return {
    message_id: hit.messageId,
    subject: hit.subject,
    sender: hit.sender,
    date: hit.date,
    snippet: hit.snippet,
    match: hit.match,
  };
}
