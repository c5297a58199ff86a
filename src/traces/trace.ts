// The types of a trace, with their schemas: a question, a suite task, or a chat, with its conversation and scores.
import { z } from "zod";
import {
  callWaitSchema,
  FINISH_REASONS,
  type Message,
  messageSchema,
  retrySchema,
  sentParametersSchema,
} from "../models/model.js";
import { usageSchema } from "../models/usage.js";
import { jsonValueSchema } from "../platform/json.js";
import { attackSchema } from "../tasks/attack.js";
import { ENDINGS } from "../tasks/ending.js";
import { mailboxChangesSchema } from "../tasks/mailbox-changes.js";
import { gradeSchema, instructionOf, questionSchema, suiteTaskFactsSchema, taskIdSchema } from "../tasks/question.js";
import { matchedEmailSchema } from "../tasks/selection.js";
import { finalStateSchema } from "../tasks/suite-task.js";
import { judgmentSchema } from "./judgment.js";

export type AssistantMessage = Extract<Message, { role: "assistant" }>;

export type Trace = QuestionTrace | SuiteTrace;

/** A trace's record of its task: the question, or the facts and the grade of a suite task. */
export type TaskRecord =
  | Pick<QuestionTrace, "kind" | "task" | "actions" | "attack">
  | Pick<SuiteTrace, "kind" | "task" | "grade" | "left">;

type AnyTrace = Trace | ChatTrace;

/** An executed tool call. Exactly one of `result` and `error` is not null. */
export const toolCallRecordSchema = z.object({
  id: z.string().describe("Id of the call in the conversation."),
  name: z.string().describe("Tool id."),
  arguments: jsonValueSchema.describe("Arguments as the model wrote them."),
  result: jsonValueSchema.describe("The result, or null after an error."),
  error: z.string().nullable().describe("Error message for the model, or null."),
  errorKind: z
    .enum(["unparsable_call", "unknown_tool", "bad_arguments", "invalid_email", "failed"])
    .nullable()
    .describe("Kind of error, or null."),
  repairs: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe("Repairs of the arguments before the call, with one line per parameter. Absent if nothing was repaired."),
  turn: z.number().int().nonnegative().describe("Index of the turn that requested the call."),
  startedAt: z.string().describe("ISO 8601."),
  durationMs: z.number().nonnegative().describe("Milliseconds."),
});

export type ToolCallRecord = z.output<typeof toolCallRecordSchema>;

export const turnSchema = z.object({
  startedAt: z.string().describe("ISO 8601."),
  model: z
    .string()
    .exactOptional()
    .describe("The answering model according to the server. Absent if the server does not report it."),
  responseId: z.string().exactOptional().describe("The provider's id of the reply. Absent if the provider gave none."),
  latencyMs: z.number().nonnegative().describe("Milliseconds of the successful HTTP attempt."),
  finishReason: z.enum(FINISH_REASONS).describe("Why the reply ended."),
  rawFinishReason: z.string().describe("The provider's own name for the finish reason."),
  usage: usageSchema.nullable().describe("Tokens, or null if the server did not report them."),
  costUsd: z.number().nullable().describe("US dollars, or null if unknown."),
  retries: z.array(retrySchema).describe("Failed HTTP attempts before the reply."),
  sent: sentParametersSchema.optional().describe("Parameters sent to the provider. Absent if unknown."),
  waitedMs: z
    .number()
    .nonnegative()
    .optional()
    .describe("Milliseconds of rate limiting, failed attempts and pauses before the call."),
  waits: z
    .array(callWaitSchema)
    .optional()
    .describe("The parts of `waitedMs` in order. Absent without a wait, or if its parts are unknown."),
  cached: z
    .boolean()
    .default(false)
    .describe(
      "Whether the reply came from the cache. Usage, cost, latency, waiting and retries are then from the original call.",
    ),
  resumed: z
    .literal(true)
    .exactOptional()
    .describe(
      "Whether the reply was paid before the run was resumed. Cost, latency, waiting and retries are from the original call. Absent for other replies.",
    ),
});

export type Turn = z.output<typeof turnSchema>;

const anyTrace = z.object({
  traceId: z.string().describe("Id of the trace."),
  sessionId: z.string().describe("Id of the conversation. Chats of one session share it."),
  runId: z.string().describe("Run id."),
  taskId: taskIdSchema.describe("Id of the task in its dataset or suite."),
  epoch: z.number().int().positive().describe("Epoch of the question, from 1."),
  agentId: z.string().describe("Agent id."),
  model: z.string().describe("Requested model as provider/name."),
  startedAt: z.string().describe("ISO 8601."),
  endedAt: z.string().describe("ISO 8601."),
  durationMs: z.number().nonnegative().describe("Milliseconds from the start to the answer, including waiting."),
  ending: z.enum(ENDINGS).describe("How the task ended."),
  error: z.string().nullable().describe("Error message for the user if the agent did not answer, otherwise null."),
  messages: z.array(messageSchema).describe("The conversation, beginning with the system prompt."),
  toolCalls: z.array(toolCallRecordSchema).describe("Executed tool calls, in order."),
  turns: z.array(turnSchema).describe("Model calls, in order."),
  maxTurns: z.number().int().describe("Maximum number of model calls."),
  answer: z.string().nullable().describe("The answer, or null if the agent did not answer."),
  sources: z.array(z.string()).describe("Message-IDs that the agent cited."),
  scores: z.record(
    z.string(),
    z.object({
      value: z.number().nullable(),
      explanation: z.string().optional(),
      /** Set if the scorer itself failed. Absent if it returned a value or does not apply. */
      failed: z.literal(true).exactOptional(),
    }),
  ),
  judge: judgmentSchema.nullable().describe("The judge's judgment of the answer, or null without a judge."),
  remote: z
    .object({ sessionId: z.string().nullable(), traceId: z.string().nullable() })
    .optional()
    .describe("The conversation's ids on the external agent's server."),
});

/** An answered question: enough to replay it, score it again and write an eval from it. */
export const traceSchema = anyTrace.extend({
  kind: z.literal("question"),
  task: questionSchema,
  actions: mailboxChangesSchema
    .exactOptional()
    .describe(
      "What the agent changed in the mailbox. Absent if nothing changed and the task does not ask for actions.",
    ),
  selection: z
    .array(matchedEmailSchema)
    .readonly()
    .exactOptional()
    .describe("The selected and the missed emails. Absent if the task does not ask for emails or has no scores."),
  attack: attackSchema
    .exactOptional()
    .describe("The hostile emails that were planted for this attempt (--perturb hostile). Absent if there were none."),
});

export type QuestionTrace = z.output<typeof traceSchema>;

/** A suite task. The trace includes the grade, because the machine no longer exists. */
export const suiteTraceSchema = anyTrace.extend({
  kind: z.literal("suite"),
  task: suiteTaskFactsSchema,
  grade: gradeSchema,
  /** Images collected from the machine. Absent if none were requested. */
  left: finalStateSchema.exactOptional(),
});

export type SuiteTrace = z.output<typeof suiteTraceSchema>;

/** The trace of one chat. Its question does not belong to a run or have a gold answer. */
export const chatTraceSchema = traceSchema
  .omit({
    runId: true,
    taskId: true,
    epoch: true,
    task: true,
    judge: true,
    remote: true,
    attack: true,
    selection: true,
  })
  .extend({
    kind: z.literal("chat"),
    agentVersion: z.number().int(),
    question: z.string(),
    inbox: z.string().nullable(),
    queryDate: z.string().nullable(),
    actions: mailboxChangesSchema
      .exactOptional()
      .describe("What the agent has changed in the mailbox since the chat began. Absent if nothing changed."),
    /** Number of messages from earlier chats, between the system prompt and the question. */
    historyLength: z.number().int().nonnegative(),
    repeats: z
      .string()
      .exactOptional()
      .describe(
        "Trace that this chat repeats, with its agent version and settings. The scores use its gold answer if the question is the same.",
      ),
  });

export type ChatTrace = z.output<typeof chatTraceSchema>;

export const anyTraceSchema = z.discriminatedUnion("kind", [traceSchema, suiteTraceSchema, chatTraceSchema]);

/** Returns the question of a chat, or the instruction of a task. */
export function askedOf(trace: AnyTrace): string {
  return trace.kind === "chat" ? trace.question : instructionOf(trace);
}
