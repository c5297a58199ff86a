import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { askedOf } from "../domain/runs/chat.js";
import { listedMails, openedMail, type ReturnedMail } from "../domain/runs/returned-mails.js";
import { isSuiteTrace, type ToolCallRecord, type Turn } from "../domain/runs/trace.js";
import { isDontKnow } from "../domain/tasks/detect-abstention.js";
import type { Ending } from "../domain/tasks/task-ending.js";

/** What rules may see of a trace: neither scores nor a judge's verdict nor the gold answer. */
export interface VisibleTrace {
  readonly isSuite: boolean;
  readonly question: string;
  /** Empty where there is none. */
  readonly answer: string;
  readonly ending: Ending;
  /** The agent said that it does not know. */
  readonly abstained: boolean;
  readonly sources: readonly string[];
  readonly toolCalls: readonly ToolCallRecord[];
  readonly turns: readonly Turn[];
  readonly durationMs: number;
  /** Mails that a search returned. */
  readonly listed: readonly ReturnedMail[];
  /** Mails that were opened, with their bodies. */
  readonly opened: readonly ReturnedMail[];
}

export function viewOf(trace: EvaluatedTrace): VisibleTrace {
  const { answer, ending, sources, toolCalls, turns, durationMs } = trace;
  return {
    isSuite: "task" in trace && isSuiteTrace(trace),
    question: askedOf(trace),
    answer: answer ?? "",
    ending,
    abstained: ending === "dont_know" || isDontKnow(answer ?? ""),
    sources,
    toolCalls,
    turns,
    durationMs,
    listed: toolCalls.flatMap(listedMails),
    opened: toolCalls.flatMap((call) => openedMail(call) ?? []),
  };
}
