import { z } from "zod";
import { readMail } from "../app/mailbox/read-mail.js";
import { readTrace } from "../app/results/read-trace.js";
import { EXIT } from "../domain/errors.js";
import { stripControls } from "../platform/strip-controls.js";
import { traceText } from "../reports/text/trace-text.js";
import type { StoredMail } from "../store/search/mail-lookup.js";
import type { Command } from "./cli/command.js";
import { readFlags, text } from "./cli/read-flags.js";

const schema = z.object({ name: text });

export const showCommand: Command = {
  positionals: { name: { type: "string", describe: "A traceId, RUN/TASK, or the Message-ID of a mail" } },
  flags: {},
  async run(argv, { settings, out }) {
    const { name } = readFlags("show", schema, argv);
    if (name.includes("@")) {
      const mail = await readMail(name, settings);
      const { mailId: _, ...shown } = mail;
      out.result(shown, () => mailText(mail));
    } else {
      const trace = await readTrace(name, settings);
      out.result(trace, () => traceText(trace));
    }
    return EXIT.done;
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
