import { z } from "zod";
import { getMail } from "../../app/mailbox/read-mail.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

export function mailRoutes({ db }: Pick<Services, "db">): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/mails/:id",
      tag: "mail",
      summary: "A mail by its Message-ID",
      status: 200,
      response: z.strictObject({
        message_id: z.string(),
        subject: z.string(),
        sender: z.string(),
        to: z.array(z.string()),
        cc: z.array(z.string()),
        bcc: z.array(z.string()),
        date: z.string().nullable(),
        body: z.string(),
      }),
      handle({ params }) {
        const { messageId, subject, sender, to, cc, bcc, date, body } = getMail(db, params.id);
        return { message_id: messageId, subject, sender, to, cc, bcc, date, body };
      },
    }),
  ];
}
