import { z } from "zod";
import { jsonValueSchema } from "../json.js";
import { messageSchema } from "../models/conversation.js";
import { callWaitSchema, FINISH_REASONS, retrySchema, sentParametersSchema, usageSchema } from "../models/model.js";
import { judgementSchema } from "../scores/judgement.js";
import { leftBehindSchema } from "../tasks/left-behind.js";
import { questionSchema } from "../tasks/question.js";
import { gradeSchema, suiteTaskFactsSchema } from "../tasks/task.js";
import { ENDINGS } from "../tasks/task-ending.js";
import { taskIdSchema } from "../tasks/task-id.js";

/** One tool call as it was made. Exactly one of `result` and `error` is not null. */
export const toolCallRecordSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonValueSchema,
  result: jsonValueSchema,
  error: z.string().nullable(),
  errorKind: z.enum(["unparsable_call", "unknown_tool", "bad_arguments", "invalid_email", "failed"]).nullable(),
  /** Index of the turn that asked for it. */
  turn: z.number().int().nonnegative(),
  startedAt: z.string(),
  durationMs: z.number().nonnegative(),
});

export type ToolCallRecord = z.output<typeof toolCallRecordSchema>;

/** One model call. */
export const turnSchema = z.object({
  startedAt: z.string(),
  /** The model that answered, as the server names it; absent where it names none. */
  model: z.string().exactOptional(),
  /** The id that the provider gave the reply; absent where it gave none. */
  responseId: z.string().exactOptional(),
  latencyMs: z.number().nonnegative(),
  finishReason: z.enum(FINISH_REASONS),
  rawFinishReason: z.string(),
  usage: usageSchema.nullable(),
  costUsd: z.number().nullable(),
  retries: z.array(retrySchema),
  /** What went to the provider; absent where that is not known. */
  sent: sentParametersSchema.optional(),
  /** Time spent on rate limiting, failed attempts and pauses before the call. */
  waitedMs: z.number().nonnegative().optional(),
  /** What that time went into, in order; absent where it is not known. */
  waits: z.array(callWaitSchema).optional(),
  /** The reply came from the cache: usage, cost, latency, waiting and retries are those of the original call. */
  cached: z.boolean().default(false),
});

export type Turn = z.output<typeof turnSchema>;

const anyTrace = z.object({
  traceId: z.string(),
  sessionId: z.string(),
  runId: z.string(),
  taskId: taskIdSchema,
  /** Which repeat of the question, from 1. */
  epoch: z.number().int().positive(),
  agentId: z.string(),
  model: z.string(),
  startedAt: z.string(),
  endedAt: z.string(),
  durationMs: z.number().nonnegative(),
  ending: z.enum(ENDINGS),
  /** Error message for the user, if the ending is not an answer. */
  error: z.string().nullable(),
  messages: z.array(messageSchema),
  toolCalls: z.array(toolCallRecordSchema),
  turns: z.array(turnSchema),
  maxTurns: z.number().int(),
  answer: z.string().nullable(),
  sources: z.array(z.string()),
  scores: z.record(z.string(), z.object({ value: z.number().nullable(), explanation: z.string().optional() })),
  /** What a model said of the answer; null where none was asked. */
  judge: judgementSchema.nullable(),
  /** The conversation's ids at the server of an external agent. */
  remote: z.object({ sessionId: z.string().nullable(), traceId: z.string().nullable() }).optional(),
});

/** One question answered: enough to replay it, score it again and write an eval from it. */
export const traceSchema = anyTrace.extend({ task: questionSchema });

export type QuestionTrace = z.output<typeof traceSchema>;

/** One task of a suite: what its evaluation functions gave belongs to it, as the machine is gone. */
export const suiteTraceSchema = anyTrace.extend({
  task: suiteTaskFactsSchema,
  grade: gradeSchema,
  /** Absent where nothing was looked for. */
  left: leftBehindSchema.exactOptional(),
});

export type SuiteTrace = z.output<typeof suiteTraceSchema>;

export type Trace = QuestionTrace | SuiteTrace;

/** What a trace keeps of its task: the question, or the facts of a suite's task with its grade. */
export type TaskRecord = Pick<QuestionTrace, "task"> | Pick<SuiteTrace, "task" | "grade" | "left">;

export function isSuiteTrace(trace: Trace): trace is SuiteTrace {
  return "grade" in trace;
}
