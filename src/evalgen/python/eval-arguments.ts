import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { Message } from "../../domain/models/conversation.js";
import { askedOf, isChatTrace } from "../../domain/runs/chat.js";
import { isSuiteTrace } from "../../domain/runs/trace.js";
import { questionOf } from "../../domain/tasks/task.js";

/** The first three arguments of an eval function, as JSON. The fourth, `ctx`, is made where it runs. */
export interface EvalArguments {
  readonly task: {
    readonly user_message: string;
    /** Null in chats. */
    readonly task_id: number | string | null;
    readonly inbox: string | null;
    /** `YYYY-MM-DD`. */
    readonly query_date: string | null;
    /** Of a task of a suite. */
    readonly suite: string | null;
  };
  /** Empty, or with `reference` what is known besides the trace. */
  readonly task_metadata: Readonly<Record<string, unknown>>;
  /** As export-traces writes it, without scores, a judge's verdict, a grade and the task. */
  readonly trace: Readonly<Record<string, unknown>>;
}

/** What a written eval sees of a trace. Gold, scores and verdicts only if it is marked `reference`. */
export function evalArguments(trace: EvaluatedTrace, reference: boolean): EvalArguments {
  const { scores, messages, ...rest } = trace;
  const visible: Record<string, unknown> = { ...rest, messages: messages.map(withoutProviderState) };
  for (const hidden of ["judge", "task", "grade", "left", "question", "inbox", "queryDate"]) delete visible[hidden];
  if (isChatTrace(trace)) {
    const { inbox, queryDate } = trace;
    const task = { user_message: askedOf(trace), task_id: null, inbox, query_date: queryDate, suite: null };
    return { task, task_metadata: reference ? { scores } : {}, trace: visible };
  }
  const question = questionOf(trace.task);
  const task = {
    user_message: askedOf(trace),
    task_id: trace.taskId,
    inbox: question?.inbox_address ?? null,
    query_date: question?.query_date ?? null,
    suite: isSuiteTrace(trace) ? trace.task.suite : null,
  };
  if (!reference) return { task, task_metadata: {}, trace: visible };
  const metadata = {
    expected_output: question?.answer ?? null,
    expected_sources: question?.message_ids ?? [],
    scores,
    judge: trace.judge,
    ...(isSuiteTrace(trace) ? { grade: trace.grade } : {}),
  };
  return { task, task_metadata: metadata, trace: visible };
}

/** What a provider wants back is encrypted, and long. */
function withoutProviderState(message: Message): Message {
  if (message.role !== "assistant" || message.providerState === undefined) return message;
  const { providerState: _, ...visible } = message;
  return visible;
}
