// Sessions: admits a chat to the server and binds it to its agent, mailbox and date, also across several messages.
import { randomUUID } from "node:crypto";
import type { Agent } from "../../agents/agent.js";
import { checkPrompt } from "../../agents/prompt-template.js";
import { getAgent } from "../../agents/registry-store.js";
import { resolveInbox } from "../../mail/mail-lookup.js";
import type { Message } from "../../models/model.js";
import { UserError } from "../../platform/errors.js";
import { getSession, type MailboxBinding, sessionActions, sessionMessages } from "../../traces/chats-store.js";
import type { ChatServices } from "../chat-services.js";
import { type AnsweredChat, openChat, saveScored } from "./chat-turn.js";
import { repeatedTask } from "./repeated-task.js";
import type { OnChatEvent } from "./stream-events.js";

/** A request for a chat through any of the APIs. */
export interface ChatRequest {
  readonly agentId: string;
  /** Absent for a new session. */
  readonly sessionId?: string | null | undefined;
  /** Earlier messages for a new session. A continued session has its own messages. */
  readonly history: readonly Message[];
  readonly question: string;
  readonly instructions: string | null;
  readonly inbox?: string | null | undefined;
  readonly queryDate?: string | null | undefined;
  readonly maxTurns?: number | null | undefined;
  readonly modelProvider?: string | null | undefined;
  readonly modelId?: string | null | undefined;
  /** The trace whose question, agent version, settings and model the chat repeats, and a prompt instead of its own. */
  readonly repeats?: { readonly traceId: string; readonly prompt: string | null } | null;
}

/** A chat that was admitted and has its model and tools. */
export interface Chat {
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /**
   * Answers, saves the trace and releases the chat's slot. The answer is streamed as events, unless `onEvent` is null.
   * Throws only for bugs in this program.
   */
  answer(onEvent: OnChatEvent | null): Promise<AnsweredChat>;
}

/** Runs all checks that can lead to the refusal of a chat, before the first byte of a response is sent. */
export async function prepareChat(services: ChatServices, request: ChatRequest): Promise<Chat> {
  const { db, models, chats, resources, chatTimeoutMs, live } = services;
  const repeated = request.repeats ? repeatedTask(db, request.repeats.traceId) : null;
  const stored = repeated === null ? getAgent(db, request.agentId) : repeatingAgent(repeated.agent, request);
  const { maxTurns = null, modelProvider = null, modelId = null } = request;
  const agent = maxTurns === null ? stored : { ...stored, settings: { ...stored.settings, maxTurns } };
  // Another model does not belong to the recorded server.
  const isRecorded = repeated?.modelServer && modelProvider === null && (modelId ?? repeated.model) === repeated.model;
  const model = isRecorded
    ? await models.get(agent, undefined, repeated.model, repeated.modelServer)
    : await models.get(agent, modelProvider ?? undefined, modelId ?? repeated?.model);
  // Nothing waits between here and the admission, so that no other chat of the session can end in between.
  const session = chooseSession(services, request);
  const { question, instructions } = request;
  const message = { ...session, agent, model, question, instructions, timeoutMs: chatTimeoutMs, repeated };
  const answerMessage = openChat(db, resources, message);
  const slot = chats.admit(session.sessionId);
  return {
    abandon: slot.abandon,
    async answer(onEvent) {
      try {
        const turn = await answerMessage(onEvent, slot.signal);
        const trace = await saveScored(db, turn.trace, repeated);
        live?.add(trace);
        return { ...turn, trace };
      } finally {
        slot.release();
      }
    },
  };
}

/** Returns the recorded agent, with the prompt of the request. */
function repeatingAgent(agent: Agent, { agentId, repeats }: ChatRequest): Agent {
  if (agent.id !== agentId) {
    const hint = `The trace belongs to agent "${agent.id}".`;
    throw new UserError("agent_of_trace", `Trace "${repeats?.traceId}" is not from agent "${agentId}".`, hint);
  }
  const prompt = repeats?.prompt ?? agent.prompt;
  checkPrompt(prompt);
  return { ...agent, prompt };
}

/**
 * A session remains bound to its agent, mailbox and date. Otherwise an answer could reveal email that was opened under
 * another binding.
 */
function chooseSession({ db }: ChatServices, request: ChatRequest) {
  const { sessionId = null, inbox = null, queryDate = null, history } = request;
  if (sessionId === null) {
    const binding: MailboxBinding = { inbox: inbox === null ? null : resolveInbox(db, inbox), queryDate };
    return { sessionId: newSessionId(), binding, history };
  }
  const session = getSession(db, sessionId);
  if (session.agentId !== request.agentId) {
    throw new UserError(
      "session_unknown",
      `Session "${session.id}" does not belong to agent "${request.agentId}".`,
      `The session belongs to agent "${session.agentId}".`,
    );
  }
  if ((inbox !== null && inbox !== session.inbox) || (queryDate !== null && queryDate !== session.queryDate)) {
    const bound = `${session.inbox ?? "no mailbox"} and ${session.queryDate ?? "no date"}`;
    throw new UserError("session_bound", `Session "${session.id}" is bound to ${bound}.`, "Start another session.");
  }
  const binding: MailboxBinding = { inbox: session.inbox, queryDate: session.queryDate };
  return {
    sessionId,
    binding,
    history: sessionMessages(db, sessionId),
    earlierActions: sessionActions(db, sessionId),
  };
}

export function newSessionId(): string {
  return `session_${randomUUID()}`;
}
