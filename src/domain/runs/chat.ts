import { z } from "zod";
import { instructionOf } from "../tasks/task.js";
import { type Trace, traceSchema } from "./trace.js";

/** What a chat may see: a mailbox and its mail up to a day, or all there is. */
export interface MailboxBinding {
  readonly inbox: string | null;
  /** `YYYY-MM-DD`: the last day of mail. */
  readonly queryDate: string | null;
}

/** The trace of one chat: of a question that belongs to no run and has no gold answer. */
export const chatTraceSchema = traceSchema
  .omit({ runId: true, taskId: true, epoch: true, task: true, judge: true, remote: true })
  .extend({
    agentVersion: z.number().int(),
    question: z.string(),
    inbox: z.string().nullable(),
    queryDate: z.string().nullable(),
    /** How many messages between the system prompt and the question were said in earlier chats. */
    historyLength: z.number().int().nonnegative(),
  });

export type ChatTrace = z.output<typeof chatTraceSchema>;

export function isChatTrace(trace: Trace | ChatTrace): trace is ChatTrace {
  return !("task" in trace);
}

/** What the agent was asked, in a chat or as a task. */
export function askedOf(trace: Trace | ChatTrace): string {
  return isChatTrace(trace) ? trace.question : instructionOf(trace.task);
}

/** A conversation of one person with one agent: several chats with one mailbox and date limit. */
export interface ChatSession extends MailboxBinding {
  readonly id: string;
  readonly agentId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const RATINGS = ["positive", "neutral", "negative"] as const;

export interface Feedback {
  readonly id: string;
  readonly traceId: string;
  readonly rating: (typeof RATINGS)[number];
  readonly notes: string | null;
  readonly createdAt: string;
}
