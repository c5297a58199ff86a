import { z } from "zod";
import { formatMail } from "../../mail/email.js";
import { EXIT } from "../../platform/errors.js";
import { stripControls } from "../../platform/text.js";
import { traceText } from "../../reports/trace-text.js";
import type { Command } from "../command.js";
import { declaredIn, readFlags, text } from "../read-flags.js";

const schema = z.object({ name: text.meta({ description: "A traceId, RUN/TASK, or the Message-ID of a mail" }) });

/** Of the longest label, `Message-ID:`. */
const LABEL_WIDTH = 11;

export const showCommand: Command = {
  ...declaredIn(schema, ["name"]),
  async run(argv, { settings, out }) {
    const { name } = readFlags("show", schema, argv);
    const { readTrace } = await import("../../runs/manage.js");
    const { readMail } = await import("../../tools/mailbox-commands.js");
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
