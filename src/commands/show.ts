import { z } from "zod";
import { EXIT } from "../domain/errors.js";
import { formatMail } from "../domain/mail/format-mail.js";
import { stripControls } from "../platform/strip-controls.js";
import { traceText } from "../reports/text/trace-text.js";
import type { Command } from "./cli/command.js";
import { readFlags, text } from "./cli/read-flags.js";

const schema = z.object({ name: text });

/** Of the longest label, `Message-ID:`. */
const LABEL_WIDTH = 11;

export const showCommand: Command = {
  positionals: { name: { type: "string", describe: "A traceId, RUN/TASK, or the Message-ID of a mail" } },
  flags: {},
  async run(argv, { settings, out }) {
    const { name } = readFlags("show", schema, argv);
    const { readTrace } = await import("../app/results/read-trace.js");
    const { readMail } = await import("../app/mailbox/read-mail.js");
    if (name.includes("@")) {
      const mail = await readMail(name, settings);
      const { mailId: _, ...shown } = mail;
      out.result(shown, () => stripControls(formatMail(mail, LABEL_WIDTH)));
    } else {
      const trace = await readTrace(name, settings);
      out.result(trace, () => traceText(trace));
    }
    return EXIT.done;
  },
};
