import { z } from "zod";
import { formatMail } from "../../mail/email.js";
import { runName, text, withTraits } from "../../platform/flag-values.js";
import { traceText } from "../../reports/trace-text.js";
import { defineCommand } from "../flags/define-command.js";
import { differentRuns } from "../flags/run-argument.js";

/** Width of the longest label, `Message-ID:`. */
const LABEL_WIDTH = 11;

export const showCommand = defineCommand(
  z.object({
    name: withTraits(text, { completes: "traces" }).meta({
      description: "Trace id, RUN/TASK, or the Message-ID of an email",
    }),
    run: runName.optional().meta({ description: "Run of the trace, if NAME is only the task" }),
  }),
  async ({ name: typed, run }, { settings, out }) => {
    const name = run === undefined ? typed : nameInRun(typed, run);
    const { readTrace } = await import("../../runs/stored-runs.js");
    const { readMail } = await import("../../tools/search-mailbox.js");
    if (name.includes("@")) {
      const mail = await readMail(name, settings);
      const { mailId: _, ...visible } = mail;
      out.result(visible, () => formatMail(mail, LABEL_WIDTH));
    } else {
      const trace = await readTrace(name, settings);
      out.result(trace, () => traceText(trace));
    }
  },
);

function nameInRun(name: string, run: string): string {
  const [ofTrace, task] = name.split("/");
  if (task === undefined) return `${run}/${name}`;
  if (ofTrace !== run) throw differentRuns("NAME", [name], [run]);
  return name;
}
