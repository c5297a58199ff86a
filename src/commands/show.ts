import { z } from "zod";
import { EXIT, UserError } from "../domain/errors.js";
import { stripControls } from "../platform/strip-controls.js";
import { traceText } from "../reports/text/trace-text.js";
import { openStore } from "../store/connection/open-store.js";
import { getTrace } from "../store/runs/traces.js";
import { openMailLookup, type StoredMail } from "../store/search/mail-lookup.js";
import type { Command } from "./cli/command.js";
import { readFlags, text } from "./cli/read-flags.js";

const schema = z.object({ name: text });

export const showCommand: Command = {
  positionals: { name: { type: "string", describe: "A traceId, RUN/TASK, or the Message-ID of a mail" } },
  flags: {},
  async run(argv, { settings, out }) {
    const { name } = readFlags("show", schema, argv);
    const db = openStore(settings.db, { mustExist: true });
    try {
      if (name.includes("@")) {
        const mail = openMailLookup(db).get(name);
        if (mail === null) {
          throw new UserError(
            "mail_unknown",
            `There is no mail ${name} in ${settings.db}.`,
            "art-e search finds mails.",
          );
        }
        const { mailId: _, ...shown } = mail;
        out.result(shown, () => mailText(mail));
      } else {
        const trace = getTrace(db, name);
        out.result(trace, () => traceText(trace));
      }
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

function mailText(mail: StoredMail): string {
  const list = (label: string, addresses: readonly string[]) =>
    addresses.length === 0 ? [] : [`${label} ${addresses.join(", ")}`];
  return stripControls(
    [
      `Message-ID: ${mail.messageId}`,
      `Date:       ${mail.date ?? "unknown"}`,
      `From:       ${mail.sender}`,
      ...list("To:        ", mail.to),
      ...list("Cc:        ", mail.cc),
      ...list("Bcc:       ", mail.bcc),
      `Subject:    ${mail.subject}`,
      "",
      mail.body,
    ].join("\n"),
  );
}
