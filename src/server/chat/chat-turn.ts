// One message to an agent: answers it, scores the trace and saves it.
import type { Agent } from "../../agents/agent.js";
import { agentLoop } from "../../agents/agent-loop.js";
import { attemptAnswer } from "../../agents/attempt-answer.js";
import { newChatTrace } from "../../agents/new-trace.js";
import { saveCurrentVersion } from "../../agents/registry-store.js";
import { evalsWithoutModels } from "../../evals/scoring-evals.js";
import { listEvals } from "../../evals/store.js";
import { endOfDay } from "../../mail/date-range.js";
import { type Message, type Model, ModelError } from "../../models/model.js";
import { NEVER } from "../../platform/deadline.js";
import { definedProperties } from "../../platform/optional-values.js";
import { withEvals } from "../../runs/score-traces.js";
import type { Db } from "../../store/open-store.js";
import { isFailure } from "../../tasks/ending.js";
import type { MailboxChanges } from "../../tasks/mailbox-changes.js";
import { loadTools, toTool } from "../../tools/load-tools.js";
import { MailboxState } from "../../tools/mailbox-state.js";
import type { Tool } from "../../tools/tool.js";
import type { ToolResources } from "../../tools/tool-handler.js";
import { type MailboxBinding, saveChat } from "../../traces/chats-store.js";
import type { ChatTrace } from "../../traces/trace.js";
import { type RepeatedTask, scoreRepeatedTask } from "./repeated-task.js";
import { type OnChatEvent, streamEvents } from "./stream-events.js";

/** A message to an agent, and its binding and limits. */
interface ChatMessage {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly model: Model;
  /** Excludes the system prompt. */
  readonly history: readonly Message[];
  readonly question: string;
  /** Text to append to the agent's prompt, or null. */
  readonly instructions: string | null;
  readonly binding: MailboxBinding;
  /** What earlier messages of the chat changed in the mailbox. */
  readonly earlierActions?: MailboxChanges | undefined;
  readonly timeoutMs: number;
  /** The task whose agent version answers, or null for the current version. */
  readonly repeated: RepeatedTask | null;
}

export interface AnsweredChat {
  readonly trace: ChatTrace;
  /** The model's error if the ending is model_error, otherwise null. */
  readonly failure: ModelError | null;
}

/**
 * Returns a function that answers the message like a task of a run, within the bound mailbox and date. Errors of the
 * model or its server determine the trace's ending and are not thrown. With `onEvent`, the model streams. Throws
 * immediately for a tool that cannot be used.
 */
export function openChat(
  db: Db,
  resources: ToolResources,
  message: ChatMessage,
): (onEvent: OnChatEvent | null, signal: AbortSignal) => Promise<AnsweredChat> {
  const { agent, repeated } = message;
  const agentVersion = repeated?.agentVersion ?? saveCurrentVersion(db, agent.id);
  const tools = repeated?.tools.map((tool) => toTool(tool, resources)) ?? loadTools(db, agent.id, resources);
  return (onEvent, signal) => answer({ ...message, agentVersion, tools }, onEvent, signal);
}

async function answer(
  message: ChatMessage & { readonly agentVersion: number; readonly tools: readonly Tool[] },
  onEvent: OnChatEvent | null,
  signal: AbortSignal,
): Promise<AnsweredChat> {
  const { sessionId, agent, agentVersion, model, tools, history, question, instructions, binding, timeoutMs } = message;
  const { inbox, queryDate } = binding;
  const today = queryDate ?? new Date().toISOString().slice(0, 10);
  const earlier = definedProperties({ earlier: message.earlierActions });
  const state = inbox === null ? undefined : new MailboxState({ owner: inbox, now: `${today}T12:00:00Z`, ...earlier });
  const { maxTurns } = agent.settings;
  const listener = onEvent === null ? {} : streamEvents(agent, onEvent);
  const variables = {
    inbox_address: inbox ?? "(not named: take its address from the question)",
    query_date: today,
  };
  const attempted = await attemptAnswer(
    agentLoop({ agent, model, tools, limits: { maxTaskCostUsd: null } }),
    {
      task: { id: null, epoch: 1, instruction: question, variables, maxTurns, instructions, history, ...listener },
      access: { inbox, cutoff: queryDate === null ? null : endOfDay(queryDate), ...definedProperties({ state }) },
      timeoutMs,
      // Null for a bug in this program, which must not be recorded as a model failure.
      endingOf: (thrown) => (thrown instanceof ModelError ? "model_error" : null),
    },
    signal,
  );
  const trace = newChatTrace(
    {
      sessionId,
      agentId: agent.id,
      agentVersion,
      model: model.id,
      maxTurns,
      question,
      binding,
      state,
      historyLength: history.length,
      ...definedProperties({ repeats: message.repeated?.trace.traceId }),
    },
    attempted,
  );
  const { thrown } = attempted;
  return { trace, failure: trace.ending === "model_error" && thrown instanceof ModelError ? thrown : null };
}

/**
 * Saves a chat with its scores: those of the task that it repeats, or those of the active evals. Without a task, evals
 * that see the gold answer are excluded. Rubrics always are, because each chat would then cost a model call.
 */
export async function saveScored(db: Db, trace: ChatTrace, repeated: RepeatedTask | null = null): Promise<ChatTrace> {
  const scored = isFailure(trace.ending) ? trace : await scoreChat(db, trace, repeated);
  saveChat(db, scored);
  return scored;
}

async function scoreChat(db: Db, trace: ChatTrace, repeated: RepeatedTask | null): Promise<ChatTrace> {
  const active = listEvals(db).filter(({ status }) => status === "active");
  const asTask = repeated && (await scoreRepeatedTask(db, trace, repeated, evalsWithoutModels(active)));
  if (asTask !== null) return asTask;
  const evals = evalsWithoutModels(active.filter(({ definition }) => !definition.reference));
  // The chat has been answered, so it is scored even if the caller has disconnected.
  const [outcomes = []] = await evals.run([trace], NEVER);
  return withEvals(trace, evals.definitions, outcomes);
}
