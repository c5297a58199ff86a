import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import type { CitedMail } from "../../server/chat.js";
import type { Ending } from "../../tasks/ending.js";
import { duration, usd } from "../../text/format.js";
import { sumCost, sumUsage } from "../../traces/task-result.js";
import type { ChatTrace } from "../../traces/trace.js";
import type { CommandDefinition } from "../command.js";
import { type ConfiguredFlags, readConfig } from "../config/merge-config.js";
import { address, day, declaredIn, readFlags, text } from "../flags/read-flags.js";
import { runSchema } from "../flags/run-flags.js";

const askSchema = runSchema.extend({
  agent: text.optional().meta({
    description: "Agent [default: email-search with a model you have a key for, otherwise baseline]",
    alias: "a",
  }),
  inbox_address: address.meta({ description: "Email address of the mailbox" }),
  question: z
    .array(text)
    .transform((words) => words.join(" ").trim())
    .pipe(z.string().min(1, "expected a question"))
    .meta({ description: "Question" }),
  before: day.optional().meta({ description: "Hide emails from this date on (YYYY-MM-DD)" }),
});

/** The `run` flags that apply to a single question. They have the same meaning as in `run`. */
const takenSchema = askSchema.pick({
  inbox_address: true,
  question: true,
  agent: true,
  modelProvider: true,
  modelId: true,
  baseUrl: true,
  wireApi: true,
  maxTurns: true,
  maxTokens: true,
  reasoningTokens: true,
  temperature: true,
  reasoningEffort: true,
  header: true,
  body: true,
  price: true,
  taskTimeout: true,
  requestTimeout: true,
  before: true,
  config: true,
  only: true,
});

const OF_CONFIG = ["agent", "model", "limits.max-turns", "limits.task-timeout", "limits.request-timeout"] as const;

export const askCommand: CommandDefinition = (usage) => ({
  ...declaredIn(takenSchema, usage),
  async run(argv, context) {
    const configured = await readConfig(argv, context, OF_CONFIG);
    refuseAgentElsewhere(configured);
    const flags = readFlags(usage, askSchema, configured.argv);
    const { ask } = await import("../../server/chat.js");
    const { trace, cited } = await ask(flags, context);
    context.out.result(answerJson(trace, cited), () => answerText(trace, cited));
    return trace.answer === null ? EXIT.failed : EXIT.done;
  },
});

/** Throws a UserError for an agent that is not in the database. Only `art-e run` supports these agents. */
function refuseAgentElsewhere({ path, used }: ConfiguredFlags): void {
  const found = used.find(({ section, key }) => section === "agent" && key !== "id");
  if (found === undefined) return;
  throw new UserError(
    "agent_external",
    `${path}:${found.line}: ${found.name} is an agent that art-e ask cannot ask.`,
    `Name one of ${commandLine`art-e agents list`} with --agent, or add --config off.`,
  );
}

function answerJson(trace: ChatTrace, cited: readonly CitedMail[]) {
  return {
    answer: trace.answer,
    ending: trace.ending,
    error: trace.error,
    sources: cited.map(({ messageId, mail }) => ({
      messageId,
      ...(mail ?? { subject: null, sender: null, date: null }),
    })),
    inbox: trace.inbox,
    queryDate: trace.queryDate,
    agentId: trace.agentId,
    model: trace.model,
    turns: trace.turns.length,
    usage: sumUsage(trace.turns),
    costUsd: sumCost(trace.turns),
    durationMs: Math.round(trace.durationMs),
    traceId: trace.traceId,
  };
}

const WITHOUT: Readonly<Partial<Record<Ending, string>>> = {
  out_of_turns: "its turns are used up",
  tool_protocol_error: "it could not make a usable tool call",
  timeout: "its time is over",
  model_error: "its model failed",
};

function answerText(trace: ChatTrace, cited: readonly CitedMail[]): string {
  const costUsd = sumCost(trace.turns);
  const without = `No answer: ${trace.error ?? WITHOUT[trace.ending] ?? trace.ending}.`;
  const turns = `${trace.turns.length} ${trace.turns.length === 1 ? "turn" : "turns"}`;
  const cost = costUsd === null ? "of unknown price" : usd(costUsd);
  return [
    trace.answer ?? without,
    "",
    ...cited.map(sourceLine),
    ...(cited.length === 0 ? [] : [""]),
    `${trace.agentId} (${trace.model}): ${turns}, ${duration(trace.durationMs)}, ${cost}. All that was said and read: ${commandLine`art-e show ${trace.traceId}`}`,
  ].join("\n");
}

function sourceLine({ messageId, mail }: CitedMail): string {
  if (mail === null) return `Source: ${messageId} (there is no such mail in the mailbox)`;
  return `Source: ${mail.subject || "(no subject)"}, ${mail.date?.slice(0, 10) ?? "no date"}, from ${mail.sender}\n        ${messageId}`;
}
