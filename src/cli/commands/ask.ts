// The command `ask`: one question to a mailbox, or the emails that may need a reply.
import { z } from "zod";
import { commandLine, helpHint } from "../../platform/command-line.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { agentName, day, text, toggle } from "../../platform/flag-values.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import { compact, definedProperties } from "../../platform/optional-values.js";
import { EXTERNAL_AGENT_FLAGS, flagsWhere, RUN_FLAGS, type RunFlagName, runSchema } from "../../runs/run-flags.js";
import type { CitedMail } from "../../server/ask.js";
import type { ChatEvent } from "../../server/chat-event.js";
import type { ListedEmail, UnansweredList } from "../../server/opinions-on-unanswered.js";
import type { Ending } from "../../tasks/ending.js";
import { count, counted, duration, usd } from "../../text/format.js";
import { sumCost, sumUsage } from "../../traces/task-result.js";
import type { ChatTrace } from "../../traces/trace.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { type ConfiguredFlags, readConfig } from "../config/merge-config.js";
import { optionalMailbox } from "../flags/argument-schemas.js";
import { contradiction, declaredIn, readFlags } from "../flags/define-command.js";
import { areRequired } from "../flags/first-argument.js";

const askSchema = runSchema.extend({
  agent: agentName.optional().meta({
    description: "Agent [default: email-search with a model you have a key for, otherwise baseline]",
    alias: "a",
  }),
  mailbox: optionalMailbox,
  question: z.array(text).default([]).meta({ description: "Question. Not with --needs-reply or --waiting-for" }),
  needsReply: toggle.meta({ description: "List the unanswered emails that may need the owner's reply" }),
  waitingFor: toggle.meta({ description: "List the owner's unanswered emails that ask for something" }),
  after: day.optional().meta({
    description:
      "With --needs-reply or --waiting-for: list emails since this date [default: one or two weeks up to the newest email]",
  }),
  before: day.optional().meta({ description: "Hide emails of this date and later ones (YYYY-MM-DD)" }),
});

/** The flags of `run` that apply to a single question. */
const RUN_FLAGS_OF_ASK = flagsWhere(({ isForAsk }) => isForAsk === true);

const declaredSchema = z.object(
  Object.fromEntries(
    Object.entries(askSchema.shape).filter(
      ([name]) => !(name in RUN_FLAGS) || RUN_FLAGS_OF_ASK.includes(name as RunFlagName),
    ),
  ),
);

/** External agents are read from the config file to be refused. */
const CONFIGURED = [...RUN_FLAGS_OF_ASK, ...(Object.keys(EXTERNAL_AGENT_FLAGS) as RunFlagName[])];

export const askCommand: CommandDefinition = (usage) => ({
  ...declaredIn(declaredSchema, usage),
  async run(argv, context) {
    limitHeapGrowth();
    const configured = await readConfig(argv, context, CONFIGURED);
    refuseExternalAgent(configured);
    const flags = readFlags(usage, askSchema, configured.argv);
    if (flags.needsReply || flags.waitingFor) return printUnanswered(flags, context);
    refuseWithoutQuestion(flags);
    const [{ ask }, { AppendOnlyText }, { changeLines }] = await Promise.all([
      import("../../server/ask.js"),
      import("../../server/append-only-text.js"),
      import("../../reports/trace-text.js"),
    ]);
    const content = new AppendOnlyText();
    const show = (event: ChatEvent) => {
      context.out.part(content.add(event));
      if (event.type !== "tool-call" || event.toolName === "return_final_answer" || !process.stderr.isTTY) return;
      context.note(`Calling ${event.toolName} …`);
    };
    const { trace, cited } = await ask(flags, context, context.settings.json ? null : show);
    context.out.result(
      answerJson(trace, cited),
      () => content.finish(headlineOf(trace)) + detailsText(trace, [...cited.map(sourceLine), ...changeLines(trace)]),
    );
    return trace.answer === null ? EXIT.failed : EXIT.done;
  },
});

type AskFlags = z.output<typeof askSchema>;

async function printUnanswered(flags: AskFlags, context: CommandContext): Promise<ExitCode> {
  const { question: words, mailbox = words[0], needsReply, waitingFor, ...options } = flags;
  if (needsReply && waitingFor) {
    throw contradiction("--needs-reply and --waiting-for cannot be combined.", "Remove one of them.");
  }
  const kind = needsReply ? "needs-reply" : "waiting-for";
  if (words.length > (flags.mailbox === undefined ? 1 : 0)) {
    throw contradiction(`--${kind} cannot be combined with a question.`, "Remove one of them.");
  }
  const { listWithOpinions } = await import("../../server/opinions-on-unanswered.js");
  const list = await listWithOpinions({ ...options, kind, mailbox }, context);
  context.out.result(list, () => unansweredText(list));
  return EXIT.done;
}

function refuseWithoutQuestion({ question, after }: AskFlags): void {
  if (after !== undefined) {
    throw contradiction("--after requires --needs-reply or --waiting-for.", "Add one of them.");
  }
  if (question.length > 0) return;
  throw new UserError("usage", `ask: ${areRequired(["QUESTION"])}`, helpHint("ask"));
}

function unansweredText({ kind, inbox, window, emails, total, model, costUsd }: UnansweredList): string {
  if (window === null) return `The mailbox of ${inbox} has no dated emails in this period.`;
  const { from, until } = window;
  const needsReply = kind === "needs-reply";
  if (total === 0) return `No emails since ${from} need a reply ${needsReply ? "from" : "to"} ${inbox}.`;
  const some = total > emails.length ? `, the newest ${count(emails.length)} of them` : "";
  return [
    needsReply
      ? `Unanswered emails to ${inbox}, ${from} to ${until}, without newsletters and notices: ${count(total)}${some}`
      : `Unanswered emails from ${inbox} that ask for something, ${from} to ${until}: ${count(total)}${some}`,
    ...emails.map((email) => listedEmailText(email, needsReply ? [email.sender] : [])),
    ...(model === null ? [] : [`${model}: ${costUsd === null ? "unknown cost" : usd(costUsd)}.`]),
  ].join("\n\n");
}

function listedEmailText(email: ListedEmail, names: readonly string[]): string {
  const { messageId, subject, date, reasons, needsReply, modelReason } = email;
  return compact([
    messageId,
    `  ${[date.slice(0, 10), ...names, subject || "(no subject)"].join("  ")}`,
    `  Rule: ${reasons.join(", ")}`,
    needsReply !== null && `  Model: ${needsReply ? "needs a reply" : "no reply needed"}. ${modelReason}`,
  ]).join("\n");
}

/** Throws a UserError for an agent that is not in the database. Only `art-e run` supports these agents. */
function refuseExternalAgent({ path, used }: ConfiguredFlags): void {
  const agentSetting = used.find(({ section, key }) => section === "agent" && key !== "id");
  if (agentSetting === undefined) return;
  throw new UserError(
    "agent_external",
    `${path}:${agentSetting.line}: ask does not support external agents (${agentSetting.name}).`,
    `Pass an agent from ${commandLine`art-e agents list`} with --agent, or add --config off.`,
  );
}

function answerJson(trace: ChatTrace, citedMails: readonly CitedMail[]) {
  return {
    answer: trace.answer,
    ending: trace.ending,
    error: trace.error,
    sources: citedMails.map(({ messageId, mail }) => ({
      messageId,
      ...(mail ?? { subject: null, sender: null, date: null }),
    })),
    ...definedProperties({ actions: trace.actions }),
    inbox: trace.inbox,
    queryDate: trace.queryDate,
    agentId: trace.agentId,
    model: trace.model,
    turns: trace.turns.length,
    usage: sumUsage(trace.turns),
    costUsd: costOf(trace),
    durationMs: Math.round(trace.durationMs),
    traceId: trace.traceId,
  };
}

const WITHOUT: Readonly<Partial<Record<Ending, string>>> = {
  out_of_turns: "it ran out of turns",
  tool_protocol_error: "it did not make a valid tool call",
  timeout: "it timed out",
  model_error: "its model failed",
};

/** The answer, or the reason why there is none. */
function headlineOf({ answer, error, ending }: ChatTrace): string {
  return answer ?? `No answer: ${error ?? WITHOUT[ending] ?? ending}.`;
}

/** The lines below the answer. */
function detailsText(trace: ChatTrace, lines: readonly string[]): string {
  const costUsd = costOf(trace);
  const turns = counted(trace.turns.length, "turn");
  const cost = costUsd === null ? "unknown cost" : usd(costUsd);
  return compact([
    "",
    "",
    ...lines,
    lines.length > 0 && "",
    `${trace.agentId} (${trace.model}): ${turns}, ${duration(trace.durationMs)}, ${cost}. Full trace: ${commandLine`art-e show ${trace.traceId}`}`,
  ]).join("\n");
}

/** US dollars, or null if unknown, such as for a first call that failed: it could have failed after it was billed. */
function costOf({ turns, ending }: ChatTrace): number | null {
  return turns.length === 0 && ending === "model_error" ? null : sumCost(turns);
}

function sourceLine({ messageId, mail }: CitedMail): string {
  if (mail === null) return `Source: ${messageId} (not in the mailbox)`;
  return `Source: ${mail.subject || "(no subject)"}, ${mail.date?.slice(0, 10) ?? "no date"}, from ${mail.sender}\n        ${messageId}`;
}
