// The command `show`: one trace or email.
import { z } from "zod";
import { formatMail } from "../../mail/email.js";
import type { ThreadMail } from "../../mail/threads.js";
import { runName, text, withTraits } from "../../platform/flag-values.js";
import { traceText } from "../../reports/trace-text.js";
import { defineCommand } from "../flags/define-command.js";
import { differentValues } from "../flags/first-argument.js";

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
    const { readTrace } = await import("../../results/stored-runs.js");
    const { readMail } = await import("../../tools/search-mailbox.js");
    if (name.includes("@")) {
      const { mail, thread } = await readMail(name, settings);
      const { mailId, ...visible } = mail;
      const emails = thread.map(({ messageId, date, sender, subject }) => ({ messageId, date, sender, subject }));
      const current = thread.findIndex((each) => each.mailId === mailId);
      out.result({ ...visible, thread: emails }, () => formatMail(mail, LABEL_WIDTH) + threadText(emails, current));
    } else {
      const trace = await readTrace(name, settings);
      out.result(trace, () => traceText(trace));
    }
  },
);

type ThreadEntry = Pick<ThreadMail, "messageId" | "date" | "sender" | "subject">;

/** Lists the emails of a thread below an email. Empty if the email is alone in its thread. */
function threadText(emails: readonly ThreadEntry[], current: number): string {
  if (emails.length < 2) return "";
  const lines = emails.map(({ messageId, date, sender, subject }, i) => {
    const head = `${date?.slice(0, 16).replace("T", " ") ?? "no date"}  ${sender}  ${subject}`;
    return i === current ? `* ${head}` : `  ${head}\n    ${messageId}`;
  });
  return `\n\nThread of ${emails.length} emails:\n${lines.join("\n")}`;
}

function nameInRun(name: string, run: string): string {
  const [ofTrace, task] = name.split("/");
  if (task === undefined) return `${run}/${name}`;
  if (ofTrace !== run) throw differentValues("NAME", [name], "--run", [run]);
  return name;
}
