import { randomUUID } from "node:crypto";
import type { Agent } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import type { Message } from "../../domain/models/conversation.js";
import type { MailboxBinding } from "../../domain/runs/chat.js";
import { getSession, saveChat, sessionMessages } from "../../store/chats/sessions.js";
import type { Db } from "../../store/connection/open-store.js";
import { getAgent } from "../../store/registry/agent-rows.js";
import { loadTools } from "../../tools/load-tools.js";
import type { ToolResources } from "../../tools/tool-handler.js";
import { scoreChat } from "../evals/score-chat.js";
import { saveCurrentVersion } from "../registry/versions.js";
import type { LiveTraces } from "../traces/live-traces.js";
import { type AnsweredChat, answerChat, type ChatListener } from "./answer-chat.js";
import { resolveInbox } from "./resolve-inbox.js";
import type { ServedModels } from "./served-models.js";

/** A request for a chat, whichever API it came by. */
export interface ChatRequest {
  readonly agentId: string;
  /** Undefined: a new session. */
  readonly sessionId?: string | undefined;
  /** Earlier messages, for a new session; a session that continues has its own. */
  readonly history: readonly Message[];
  readonly question: string;
  readonly instructions: string | null;
  readonly inbox: string | undefined;
  readonly queryDate: string | undefined;
  /** The session that `history` was taken from: the new one gets its mailbox and day. */
  readonly continuedFrom?: string | undefined;
  readonly maxTurns: number | undefined;
  readonly modelProvider: string | undefined;
  readonly modelId: string | undefined;
}

/** Admits chats: so many at once, and one at a time in a session. */
export interface ChatAdmission {
  /** Throws where the chat is not admitted. */
  admit(sessionId: string): AdmittedChat;
}

/** One chat under way. */
export interface AdmittedChat {
  readonly signal: AbortSignal;
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /** Lets another chat in. */
  release(): void;
}

/** What all chats of a process share. */
export interface ChatServices {
  readonly db: Db;
  readonly resources: ToolResources;
  readonly models: ServedModels;
  readonly chats: ChatAdmission;
  readonly chatTimeoutMs: number;
  /** Null: traces are not sent anywhere. */
  readonly live: LiveTraces | null;
}

/** A chat that was admitted and has its model and tools. */
export interface PreparedChat {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /** Answers, saves the trace and releases the chat's slot. Throws only for faults of this program. */
  answer(listener: ChatListener): Promise<AnsweredChat>;
}

/** All that can refuse a chat happens here, before the first byte of a response is sent. */
export async function prepareChat(services: ChatServices, request: ChatRequest): Promise<PreparedChat> {
  const { db, models, chats, resources, chatTimeoutMs, live } = services;
  const stored = getAgent(db, request.agentId);
  const { sessionId, binding, history } = chooseSession(services, request);
  const agent =
    request.maxTurns === undefined
      ? stored
      : { ...stored, settings: { ...stored.settings, maxTurns: request.maxTurns } };
  const model = await models.get(agent, request.modelProvider, request.modelId);
  const tools = loadTools(db, agent, resources);
  const slot = chats.admit(sessionId);
  return {
    sessionId,
    agent,
    signal: slot.signal,
    abandon: slot.abandon,
    async answer(listener) {
      try {
        const answered = await answerChat(
          {
            sessionId,
            agent,
            agentVersion: saveCurrentVersion(db, agent.id),
            model,
            tools,
            history,
            question: request.question,
            instructions: request.instructions,
            binding,
            timeoutMs: chatTimeoutMs,
          },
          listener,
          slot.signal,
        );
        const trace = await scoreChat(db, answered.trace);
        saveChat(db, trace);
        live?.add(trace);
        return { ...answered, trace };
      } finally {
        slot.release();
      }
    },
  };
}

/**
 * A session stays bound to its agent, mailbox and day: otherwise mail that was read under one binding would be told
 * under another.
 */
function chooseSession({ db }: ChatServices, request: ChatRequest) {
  const inbox = request.inbox ?? null;
  const queryDate = request.queryDate ?? null;
  const earlierId = request.sessionId ?? request.continuedFrom;
  if (earlierId === undefined) {
    const binding: MailboxBinding = { inbox: inbox === null ? null : resolveInbox(db, inbox), queryDate };
    return { sessionId: newSessionId(), binding, history: request.history };
  }
  const session = getSession(db, earlierId);
  if (session.agentId !== request.agentId) {
    throw new UserError(
      "session_unknown",
      `Agent "${request.agentId}" has no session "${session.id}".`,
      `It is a session of ${session.agentId}.`,
    );
  }
  if ((inbox !== null && inbox !== session.inbox) || (queryDate !== null && queryDate !== session.queryDate)) {
    const bound = `${session.inbox ?? "no mailbox"} and ${session.queryDate ?? "no day"}`;
    throw new UserError("session_bound", `Session "${session.id}" is bound to ${bound}.`, "Begin another session.");
  }
  const binding: MailboxBinding = { inbox: session.inbox, queryDate: session.queryDate };
  return request.sessionId === undefined
    ? { sessionId: newSessionId(), binding, history: request.history }
    : { sessionId: session.id, binding, history: sessionMessages(db, session.id) };
}

function newSessionId(): string {
  return `session_${randomUUID()}`;
}
