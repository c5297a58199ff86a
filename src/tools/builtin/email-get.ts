import { z } from "zod";
import { findReadableMail, toolError } from "../open-mailbox.js";
import { defineHandler, textArgument } from "../tool-handler.js";

/**
 * One complete mail; a body longer than a page is split into pages. Result: `{message_id, subject, sender, to, cc,
 * bcc, date, body}`, with `{body_from, body_length, next_offset}` where the body is not all of it.
 */
export const emailGet = defineHandler({
  args: z.object({ message_id: textArgument(2_000).min(1), offset: z.number().int().min(0).default(0) }),
  config: z.strictObject({
    /** Characters of body in one result. */
    pageSize: z.number().int().min(1000).default(20_000),
  }),
  call({ message_id, offset }, context, { mailbox }, { pageSize }) {
    const readable = findReadableMail(message_id, context, mailbox);
    if (!readable.ok) return readable;
    const { mail } = readable;
    if (offset > 0 && offset >= mail.body.length) {
      return toolError("bad_arguments", `The body has ${mail.body.length} characters: offset must be below that.`);
    }
    const body = mail.body.slice(offset, offset + pageSize);
    const end = offset + body.length;
    const page =
      body.length === mail.body.length
        ? {}
        : { body_from: offset, body_length: mail.body.length, next_offset: end < mail.body.length ? end : null };
    return {
      ok: true,
      value: {
        message_id: mail.messageId,
        subject: mail.subject,
        sender: mail.sender,
        to: mail.to,
        cc: mail.cc,
        bcc: mail.bcc,
        date: mail.date,
        body,
        ...page,
      },
    };
  },
});
