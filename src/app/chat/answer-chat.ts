import { randomUUID } from "node:crypto";
import { type AgentRun, newTranscript, runAgent } from "../../agents/loop/agent-loop.js";
import { listTools } from "../../agents/loop/list-tools.js";
import type { Agent } from "../../domain/agents/agent.js";
import { renderPrompt } from "../../domain/agents/prompt.js";
import type { Tool } from "../../domain/agents/tool.js";
import type { Workspace } from "../../domain/agents/workspace.js";
import type { Message } from "../../domain/models/conversation.js";
import { type Model, ModelError } from "../../domain/models/model.js";
import type { ChatTrace, MailboxBinding } from "../../domain/runs/chat.js";
import { endOfDay } from "../../store/search/date-range.js";
import { attemptAnswer } from "../answer/attempt-answer.js";

/** One message to an agent, and the conditions it is answered under. */
export interface Chat {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly agentVersion: number;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** Without the system prompt. */
  readonly history: readonly Message[];
  readonly question: string;
  /** Appended to the agent's own prompt; null: nothing. */
  readonly instructions: string | null;
  readonly binding: MailboxBinding;
  readonly timeoutMs: number;
}

/** Hears how an answer comes about. */
export type ChatListener = Pick<AgentRun, "onStep" | "onActivity">;

export interface AnsweredChat {
  readonly trace: ChatTrace;
  /** The model's error where the ending is model_error; else null. */
  readonly failure: ModelError | null;
}

/**
 * Answers one message as a task of a run is answered: within the mailbox and up to the day it is bound to. Errors of
 * the model or its server become the trace's ending; they are not thrown.
 */
export async function answerChat(
  chat: Chat,
  { onStep, onActivity }: ChatListener,
  signal: AbortSignal,
): Promise<AnsweredChat> {
  const { times, rollout, error, thrown } = await attemptAnswer(
    {
      timeoutMs: chat.timeoutMs,
      run(transcript, chatSignal, workspace) {
        const run = { ...agentRun(chat, chatSignal, workspace), onStep, onActivity };
        transcript.messages.push(...newTranscript(run).messages);
        transcript.messages.splice(1, 0, ...chat.history);
        return runAgent(run, transcript);
      },
      // Null: a bug of this program, which must not be recorded as a failure of the model.
      endingOf: (thrown) => (thrown instanceof ModelError ? "model_error" : null),
    },
    signal,
  );
  const trace: ChatTrace = {
    traceId: `trace_${randomUUID()}`,
    sessionId: chat.sessionId,
    agentId: chat.agent.id,
    agentVersion: chat.agentVersion,
    model: chat.model.id,
    ...times,
    ...rollout,
    error,
    sources: [...rollout.sources],
    maxTurns: chat.agent.settings.maxTurns,
    scores: {},
    question: chat.question,
    ...chat.binding,
    historyLength: chat.history.length,
  };
  return { trace, failure: trace.ending === "model_error" && thrown instanceof ModelError ? thrown : null };
}

function agentRun(chat: Chat, signal: AbortSignal, workspace: Workspace): AgentRun {
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
  };
}
