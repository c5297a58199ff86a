// What art-e saw of an agent's work, so that unseen calls are unknown and never 0.
import type { QuestionTrace } from "./trace.js";

export interface ObservedWork {
  /** Whether the model calls (turns) of the agent are recorded. */
  readonly modelCalls: boolean;
  /** Whether the searches and the other tool calls of the agent are recorded. */
  readonly toolCalls: boolean;
}

type ObservableTrace = Pick<QuestionTrace, "model" | "turns" | "toolCalls" | "answer" | "ending">;

/** Models of external agents that return only an answer, unless a function reports its turns. */
const RETURNS_ONLY_AN_ANSWER = /^(command|endpoint|function)\//;

/**
 * Returns what is known about the work behind a trace. A single turn of an agent that returns only an answer stands for
 * its entire work. An external agent's tool calls are known if it used art-e's
 * tools. An imported answer without any model call comes from a file that does not contain them.
 */
export function observedWork({ model, turns, toolCalls, answer, ending }: ObservableTrace): ObservedWork {
  const isIdle = !answer || ending === "not_started" || ending === "not_runnable";
  const isOneForAll = RETURNS_ONLY_AN_ANSWER.test(model) && turns.length < 2;
  const modelCalls = !isOneForAll && (turns.length > 0 || isIdle);
  return { modelCalls, toolCalls: modelCalls || toolCalls.length > 0 };
}

/** Returns the number of tool calls, or null if unknown. */
export function knownToolCalls(trace: ObservableTrace): number | null {
  return observedWork(trace).toolCalls ? trace.toolCalls.length : null;
}

/** Formats `3 turns`, or `an unknown number of turns`. */
export function turnsText(trace: ObservableTrace): string {
  const turns = observedWork(trace).modelCalls ? trace.turns.length : "an unknown number of";
  return `${turns} ${turns === 1 ? "turn" : "turns"}`;
}
