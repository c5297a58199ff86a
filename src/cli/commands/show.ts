import { z } from "zod";
import { formatMail } from "../../mail/email.js";
import { text } from "../../platform/flag-values.js";
import { traceText } from "../../reports/trace-text.js";
import { defineCommand } from "../flags/define-command.js";

/** Width of the longest label, `Message-ID:`. */
const LABEL_WIDTH = 11;

export const showCommand = defineCommand(
  z.object({ name: text.meta({ description: "Trace id, RUN/TASK, or the Message-ID of an email" }) }),
  async ({ name }, { settings, out }) => {
    const { readTrace } = await import("../../runs/stored-runs.js");
    const { readMail } = await import("../../tools/search-mailbox.js");
    if (name.includes("@")) {
      const mail = await readMail(name, settings);
      const { mailId: _, ...shown } = mail;
      out.result(shown, () => formatMail(mail, LABEL_WIDTH));
    } else {
      const trace = await readTrace(name, settings);
      out.result(trace, () => traceText(trace));
    }
  },
);
