import { z } from "zod";
import { stripControls } from "../../../platform/strip-controls.js";
import { count } from "../format-number.js";

const hitsSchema = z.array(
  z.object({
    message_id: z.string(),
    subject: z.string().optional(),
    sender: z.string().optional(),
    date: z.string().nullish(),
    snippet: z.string(),
    match: z.string().optional(),
  }),
);

/** What email_search or search_emails found. `explanations`: of each hit, in the order of the hits. */
export function searchHits(value: unknown, explanations: readonly string[] = []): string {
  const { emails, total } = z
    .union([
      z.object({ emails: hitsSchema, total: z.number() }),
      hitsSchema.transform((emails) => ({ emails, total: emails.length })),
    ])
    .parse(value);
  if (emails.length === 0) return "No mail found.";
  const shown = emails.map((mail, i) =>
    [
      `${mail.message_id}${mail.match === undefined ? "" : `  (${mail.match.replace("_", " ")})`}`,
      ...(mail.subject === undefined
        ? []
        : [`  ${mail.date?.slice(0, 10) ?? "no date"}  ${mail.sender}  ${mail.subject}`]),
      `  ${mail.snippet}`,
      ...(explanations[i] ?? "")
        .split("\n")
        .filter(Boolean)
        .map((line) => `    ${line}`),
    ].join("\n"),
  );
  return stripControls(
    [...shown, `${count(emails.length)} of ${count(total)} mails. art-e show '<MESSAGE-ID>' reads one.`].join("\n\n"),
  );
}
