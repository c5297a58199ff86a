import { randomUUID } from "node:crypto";
import { listTools } from "../../agents/loop/list-tools.js";
import { type AgentRun, type AgentStep, newTranscript, runAgent } from "../../agents/loop/loop.js";
import type { Agent } from "../../domain/agents/agent.js";
import { renderPrompt } from "../../domain/agents/prompt.js";
import type { Tool } from "../../domain/agents/tool.js";
import type { Workspace } from "../../domain/agents/workspace.js";
import type { Message } from "../../domain/models/conversation.js";
import { type Model, ModelError, type PriceOf } from "../../domain/models/model.js";
import type { ChatTrace, MailboxBinding } from "../../domain/runs/chat.js";
import type { Ending } from "../../domain/tasks/ending.js";
import { openDeadline, timeLimitReached } from "../../models/http/deadline.js";
import { openWorkspace } from "../../sandbox/workspace.js";
import { endOfDay } from "../../store/search/date-range.js";

/** One message to an agent, with all that holds while it is answered. */
export interface Chat {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly agentVersion: number;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** Without the system prompt. */
  readonly history: readonly Message[];
  readonly question: string;
  /** Put after the agent's own prompt; null: nothing. */
  readonly instructions: string | null;
  readonly binding: MailboxBinding;
  readonly timeoutMs: number;
  readonly priceOf: PriceOf;
}

export interface AnsweredChat {
  readonly trace: ChatTrace;
  /** What the model's server refused or broke; null for every other ending. */
  readonly failure: ModelError | null;
}

/**
 * Answers one message as a task of a run is answered: within the mailbox and up to the day it is bound to. Always a trace,
 * never a throw for anything that the model or its server did; what was said before a failure stays in it.
 */
export async function answerChat(
  chat: Chat,
  onStep: (step: AgentStep) => Promise<void> | void,
  signal: AbortSignal,
): Promise<AnsweredChat> {
  const startedAt = new Date();
  const started = performance.now();
  const deadline = openDeadline(signal, chat.timeoutMs, timeLimitReached);
  const workspace = openWorkspace();
  const run = agentRun(chat, onStep, deadline.signal, workspace);
  const transcript = newTranscript(run);
  transcript.messages.splice(1, 0, ...chat.history);
  const traceOf = (end: Pick<ChatTrace, "ending" | "error" | "answer" | "sources">): ChatTrace => ({
    traceId: `trace_${randomUUID()}`,
    sessionId: chat.sessionId,
    agentId: chat.agent.id,
    agentVersion: chat.agentVersion,
    model: chat.model.id,
    startedAt: startedAt.toISOString(),
    endedAt: new Date().toISOString(),
    durationMs: performance.now() - started,
    ...transcript,
    ...end,
    maxTurns: chat.agent.settings.maxTurns,
    scores: {},
    question: chat.question,
    ...chat.binding,
    historyLength: chat.history.length,
  });
  try {
    const { ending, answer, sources } = await runAgent(run, transcript);
    return { trace: traceOf({ ending, answer, sources: [...sources], error: null }), failure: null };
  } catch (thrown) {
    const ending = endingOf(thrown, signal, deadline.hasPassed);
    if (ending === null) throw thrown;
    const error = ending === "timeout" ? `No answer within ${chat.timeoutMs / 1000} s.` : (thrown as Error).message;
    const trace = traceOf({ ending, answer: null, sources: [], error });
    return { trace, failure: ending === "model_error" && thrown instanceof ModelError ? thrown : null };
  } finally {
    deadline.close();
    await workspace.close();
  }
}

function agentRun(chat: Chat, onStep: AgentRun["onStep"], signal: AbortSignal, workspace: Workspace): AgentRun {
  const { agent, tools, binding, instructions } = chat;
  const prompt = renderPrompt(agent.prompt, {
    inbox_address: binding.inbox ?? "(not named: take its address from the question)",
    query_date: binding.queryDate ?? new Date().toISOString().slice(0, 10),
    max_turns: agent.settings.maxTurns,
    tools: listTools(tools),
  });
  return {
    model: chat.model,
    tools,
    system: instructions === null ? prompt : `${prompt}\n\n${instructions}`,
    question: chat.question,
    settings: agent.settings,
    context: {
      inbox: binding.inbox,
      cutoff: binding.queryDate === null ? null : endOfDay(binding.queryDate),
      signal,
      workspace,
    },
    maxCostUsd: null,
    priceOf: chat.priceOf,
    onStep,
  };
}

/** Null: a fault of this program. */
function endingOf(thrown: unknown, interrupted: AbortSignal, isLate: boolean): Ending | null {
  if (interrupted.aborted) return "interrupted";
  if (isLate) return "timeout";
  return thrown instanceof ModelError ? "model_error" : null;
}
