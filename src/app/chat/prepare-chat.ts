import { randomUUID } from "node:crypto";
import type { AgentStep } from "../../agents/loop/loop.js";
import type { Agent } from "../../domain/agents/agent.js";
import type { Message } from "../../domain/models/conversation.js";
import type { MailboxBinding } from "../../domain/runs/chat.js";
import { ApiError } from "../../servers/http/api-error.js";
import type { Services } from "../../servers/http/services.js";
import { getSession, saveChat, sessionMessages } from "../../store/chats/sessions.js";
import { getAgent } from "../../store/registry/agents.js";
import { loadTools } from "../../tools/load-tools.js";
import { saveCurrentVersion } from "../registry/versions.js";
import { type AnsweredChat, answerChat } from "./answer-chat.js";
import { resolveInbox } from "./resolve-inbox.js";

/** A chat as it is asked for, in whichever API's words. */
export interface ChatRequest {
  readonly agentId: string;
  /** A new session where undefined. */
  readonly sessionId?: string | undefined;
  /** What was said before, for a new session; one that goes on has its own. */
  readonly history: readonly Message[];
  readonly question: string;
  readonly instructions: string | null;
  readonly inbox: string | undefined;
  readonly queryDate: string | undefined;
  /** For a new session that takes over what was said in another: it is bound as that one. */
  readonly boundAs?: string | undefined;
  readonly maxTurns: number | undefined;
  readonly modelProvider: string | undefined;
  readonly modelId: string | undefined;
}

/** A chat that has a place, a model and tools, and has only to be carried out. */
export interface PreparedChat {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** Ends it: nobody listens any more. */
  abandon(why: string): void;
  /** Answers and saves. Throws for faults of this program only. Gives its place back. */
  answer(onStep: (step: AgentStep) => Promise<void> | void): Promise<AnsweredChat>;
}

/** Everything that could refuse the chat refuses it here, before anything is sent. */
export async function prepareChat(services: Services, asked: ChatRequest): Promise<PreparedChat> {
  const { db, models, chats, resources, chatTimeoutMs } = services;
  const stored = getAgent(db, asked.agentId);
  const { sessionId, binding, history } = sessionOf(services, asked);
  const agent =
    asked.maxTurns === undefined ? stored : { ...stored, settings: { ...stored.settings, maxTurns: asked.maxTurns } };
  const { model, priceOf } = await models.get(agent, asked.modelProvider, asked.modelId);
  const tools = loadTools(db, agent, resources);
  const place = chats.begin(sessionId);
  return {
    sessionId,
    agent,
    signal: place.signal,
    abandon: place.abandon,
    async answer(onStep) {
      try {
        const answered = await answerChat(
          {
            sessionId,
            agent,
            agentVersion: saveCurrentVersion(db, agent.id),
            model,
            tools,
            history,
            question: asked.question,
            instructions: asked.instructions,
            binding,
            timeoutMs: chatTimeoutMs,
            priceOf,
          },
          onStep,
          place.signal,
        );
        saveChat(db, answered.trace);
        return answered;
      } finally {
        place.end();
      }
    },
  };
}

/** A session stays with its agent, mailbox and day: what was read under them must not be taken elsewhere. */
function sessionOf({ db }: Services, asked: ChatRequest) {
  const inbox = asked.inbox ?? null;
  const queryDate = asked.queryDate ?? null;
  const goesOn = asked.sessionId ?? asked.boundAs;
  if (goesOn === undefined) {
    const binding: MailboxBinding = { inbox: inbox === null ? null : resolveInbox(db, inbox), queryDate };
    return { sessionId: newId(), binding, history: asked.history };
  }
  const session = getSession(db, goesOn);
  if (session.agentId !== asked.agentId) {
    throw new ApiError("NOT_FOUND", `Agent "${asked.agentId}" has no session "${session.id}".`);
  }
  if ((inbox !== null && inbox !== session.inbox) || (queryDate !== null && queryDate !== session.queryDate)) {
    const bound = `${session.inbox ?? "no mailbox"} and ${session.queryDate ?? "no day"}`;
    throw new ApiError("VALIDATION_ERROR", `Session "${session.id}" is bound to ${bound}; begin another one.`);
  }
  const binding: MailboxBinding = { inbox: session.inbox, queryDate: session.queryDate };
  return asked.sessionId === undefined
    ? { sessionId: newId(), binding, history: asked.history }
    : { sessionId: session.id, binding, history: sessionMessages(db, session.id) };
}

function newId(): string {
  return `session_${randomUUID()}`;
}
