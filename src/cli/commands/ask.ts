import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { stripControls } from "../../platform/text.js";
import type { CitedMail } from "../../server/chat.js";
import type { Ending } from "../../tasks/ending.js";
import { duration, usd } from "../../text/format.js";
import { sumCost, sumUsage } from "../../traces/task-result.js";
import type { ChatTrace } from "../../traces/trace.js";
import type { Command, Flags } from "../command.js";
import { type ConfiguredFlags, readConfig } from "../config-file.js";
import { CONFIG_FLAGS } from "../flags.js";
import { day, readFlags, text } from "../read-flags.js";
import { RUN_FLAGS, runSchema } from "./run-flags.js";

/** Flags with the meaning they have for `run`. */
const AS_IN_RUN = [
  "agent",
  "model-provider",
  "model-id",
  "base-url",
  "wire-api",
  "max-turns",
  "max-tokens",
  "reasoning-tokens",
  "temperature",
  "price",
  "task-timeout",
  "request-timeout",
] as const;

const ASK_FLAGS: Flags = {
  ...Object.fromEntries(AS_IN_RUN.map((name) => [name, RUN_FLAGS[name] ?? {}])),
  agent: {
    alias: "a",
    type: "string",
    requiresArg: true,
    describe: "Who is asked [default: email-search with the model that there is a key for, else baseline]",
  },
  before: {
    type: "string",
    requiresArg: true,
    describe: "Ask as on the day before this one: mail from it on is invisible, YYYY-MM-DD",
  },
  ...CONFIG_FLAGS,
};

const askSchema = runSchema.extend({
  inbox_address: text,
  question: z
    .array(z.coerce.string())
    .transform((words) => words.join(" ").trim())
    .pipe(z.string().min(1, "expected a question")),
  before: day.optional(),
});

const OF_CONFIG = ["agent", "model", "limits.max-turns", "limits.task-timeout", "limits.request-timeout"] as const;

export const askCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    question: { type: "string", array: true, describe: "What its owner wants to know" },
  },
  flags: ASK_FLAGS,
  async run(argv, context) {
    const configured = await readConfig(argv, context, OF_CONFIG);
    refuseAgentElsewhere(configured);
    const flags = readFlags("ask", askSchema, configured.argv);
    const { ask } = await import("../../server/chat.js");
    const { trace, cited } = await ask(flags, context);
    context.out.result(answerJson(trace, cited), () => answerText(trace, cited));
    return trace.answer === null ? EXIT.failed : EXIT.done;
  },
};

/** Only a run can ask an agent that is not in the database. */
function refuseAgentElsewhere({ path, used }: ConfiguredFlags): void {
  const found = used.find(({ section, key }) => section === "agent" && key !== "id");
  if (found === undefined) return;
  throw new UserError(
    "ask_elsewhere",
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
  return stripControls(
    [
      trace.answer ?? without,
      "",
      ...cited.map(sourceLine),
      ...(cited.length === 0 ? [] : [""]),
      `${trace.agentId} (${trace.model}): ${turns}, ${duration(trace.durationMs)}, ${cost}. All that was said and read: ${commandLine`art-e show ${trace.traceId}`}`,
    ].join("\n"),
  );
}

function sourceLine({ messageId, mail }: CitedMail): string {
  if (mail === null) return `Source: ${messageId} (there is no such mail in the mailbox)`;
  return `Source: ${mail.subject || "(no subject)"}, ${mail.date?.slice(0, 10) ?? "no date"}, from ${mail.sender}\n        ${messageId}`;
}
