import { randomUUID } from "node:crypto";
import type { Agent } from "../agents/agent.js";
import type { AgentTask } from "../agents/agent-backend.js";
import { agentLoop } from "../agents/agent-loop.js";
import { attemptAnswer } from "../agents/attempt-answer.js";
import { newChatTrace } from "../agents/new-trace.js";
import { getAgent, saveCurrentVersion } from "../agents/registry-store.js";
import { listEvals } from "../evals/store.js";
import { evalsWithoutModels } from "../evals/use-evals.js";
import { endOfDay } from "../mail/date-range.js";
import { resolveInbox } from "../mail/mail-lookup.js";
import { baseUrlOf, connectionOf } from "../models/connections.js";
import { stopsRun } from "../models/failure-classes.js";
import { type Message, type Model, ModelError } from "../models/model.js";
import { API_KEY_VARIABLES, DEFAULT_MODEL, PROVIDERS, type Provider } from "../models/model-names.js";
import { answeringModelOf, noteReplies } from "../models/open-model.js";
import { type GivenExtras, openExtras, recordedExtras } from "../models/request-extras.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { EXIT, UserError } from "../platform/errors.js";
import { createModel } from "../runs/model-of-run.js";
import type { RunOptions } from "../runs/run-flags.js";
import { withEvals } from "../runs/score-traces.js";
import { agentOf, newRunSettings, notesOnSent } from "../runs/settings-from-options.js";
import { type Db, withStore } from "../store/open-store.js";
import { isFailure } from "../tasks/ending.js";
import { loadTools } from "../tools/load-tools.js";
import { findReadableMail, type Mailbox, openMailbox } from "../tools/mailbox.js";
import { SearchPool } from "../tools/search-pool.js";
import type { Tool } from "../tools/tool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import { type LiveOptions, type LiveTraces, openLiveTraces } from "../trace-formats/otlp-live.js";
import { getSession, saveChat, sessionMessages } from "../traces/chats-store.js";
import type { ChatTrace, MailboxBinding } from "../traces/trace.js";
import { ServedModels } from "./openai/served-models.js";
import type { ChatLimits } from "./sse-writer.js";

interface ChatModelOptions extends GivenExtras {
  readonly chatMs: number;
  /** Timeout per attempt at a model call. */
  readonly modelCallMs: number;
}

const NEVER = new AbortController().signal;

/** Opens the resources of chats (the database, the tools' resources and the models) while `use` is running. */
export async function withChatServices<T>(
  { chatMs, modelCallMs, ...given }: ChatModelOptions,
  liveOptions: LiveOptions,
  { settings, note }: Pick<AppContext, "settings" | "note">,
  use: (services: Omit<ChatServices, "chats">) => Promise<T>,
): Promise<T> {
  const { env } = settings;
  const extras = openExtras(recordedExtras(given), given, env);
  const endpointOf = (provider: Provider) => {
    const baseUrl = baseUrlOf(provider, undefined, env, "the same variable in the environment itself");
    return connectionOf(provider, { baseUrl, wireApi: null, timeoutMs: modelCallMs, extras }, env);
  };
  // Refuses a URL that must not receive its key at startup instead of at the first chat.
  for (const provider of PROVIDERS) endpointOf(provider);
  const models = new ServedModels(endpointOf, DEFAULT_MODEL, (model) => noteReplies(model, note));
  return withStore(settings, async (db) => {
    const live = openLiveTraces(db, liveOptions, { settings, note });
    const outside = openExternalResources(env);
    const searchThreads = new SearchPool(settings.db);
    try {
      const resources = { mailbox: openMailbox(db), searchThreads, outside };
      return await use({ db, resources, models, chatTimeoutMs: chatMs, live });
    } finally {
      await Promise.all([searchThreads.close(), outside.close(), live?.close(NEVER)]);
    }
  });
}

interface AskOptions extends RunOptions {
  readonly inbox_address: string;
  readonly question: string;
  /** Email from this date on is hidden. */
  readonly before?: string | undefined;
}

interface AnsweredQuestion {
  readonly trace: ChatTrace;
  readonly cited: readonly CitedMail[];
}

/** Answers one question from a mailbox and stores it as a separate chat. */
export function ask(options: AskOptions, context: AppContext): Promise<AnsweredQuestion> {
  return withStore(context.settings, async (db) => {
    const inbox = resolveInbox(db, options.inbox_address);
    const { agentId, chosen } = chooseAgent(options, context);
    const settings = newRunSettings(db, chosen, getAgent(db, agentId), context);
    for (const note of notesOnSent(settings)) context.note(note);
    const model = await createModel(settings, chosen, context);
    const outside = openExternalResources(context.settings.env);
    const mailbox = openMailbox(db);
    try {
      const chat = openChat(
        db,
        { mailbox, outside },
        {
          sessionId: newSessionId(),
          agent: agentOf(settings),
          model: model.model,
          history: [],
          question: options.question,
          instructions: null,
          binding: { inbox, queryDate: options.before === undefined ? null : dayBefore(options.before) },
          timeoutMs: settings.taskTimeoutMs,
        },
      );
      const answered = await answerChat(chat, {}, context.signal);
      refuseFailedQuestion(answered, chosen);
      const trace = await saveScored(db, answered.trace);
      return { trace, cited: citedMails(trace, mailbox) };
    } finally {
      model.close();
      await outside.close();
    }
  });
}

/**
 * Chooses agent and model depending on the API keys in the environment, if the user specifies neither. Notes the
 * choice.
 */
function chooseAgent(options: AskOptions, { settings, note }: AppContext): { agentId: string; chosen: AskOptions } {
  const isModelGiven =
    options.modelId !== undefined || options.modelProvider !== undefined || options.baseUrl !== undefined;
  const agentId = options.agent ?? "email-search";
  if (isModelGiven || options.agent !== undefined) return { agentId, chosen: options };
  const modelId = answeringModelOf(settings.env);
  if (modelId !== null) {
    note(`Asking ${agentId} with ${modelId}.`);
    return { agentId, chosen: { ...options, modelId } };
  }
  const variables = Object.values(API_KEY_VARIABLES).flat().join(", ");
  note(`No API key is set (${variables}): asking the offline baseline, which is not a language model.`);
  return { agentId: "baseline", chosen: options };
}

function dayBefore(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10);
}

/** Throws if the answer is not worth storing: the key was refused, the account is empty, or the user interrupted it. */
function refuseFailedQuestion({ trace, failure }: AnsweredChat, { modelId }: AskOptions): void {
  if (trace.ending === "interrupted") throw new Interrupted("stopped.");
  if (failure !== null && stopsRun(failure.kind)) {
    const hint = `Check the key${modelId === undefined ? "" : `, and the model ${modelId}`}.`;
    throw new UserError("ask_failed", failure.message, hint, EXIT.failed);
  }
}

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
  /** Session that `history` comes from. The new session gets its mailbox and date. */
  readonly continuedFrom?: string | undefined;
  readonly maxTurns?: number | null | undefined;
  readonly modelProvider?: string | null | undefined;
  readonly modelId?: string | null | undefined;
}

/** Resources shared by all chats of a process. */
export interface ChatServices {
  readonly db: Db;
  readonly resources: ToolResources;
  readonly models: ServedModels;
  readonly chats: ChatLimits;
  readonly chatTimeoutMs: number;
  /** Sends finished traces, or null if they are not sent. */
  readonly live: LiveTraces | null;
}

/** A chat that was admitted and has its model and tools. */
export interface PreparedChat {
  readonly sessionId: string;
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /** Answers, saves the trace and releases the chat's slot. Throws only for bugs in this program. */
  answer(listener: ChatListener): Promise<AnsweredChat>;
}

/** Runs all checks that can lead to the refusal of a chat, before the first byte of a response is sent. */
export async function prepareChat(services: ChatServices, request: ChatRequest): Promise<PreparedChat> {
  const { db, models, chats, resources, chatTimeoutMs, live } = services;
  const stored = getAgent(db, request.agentId);
  const { sessionId, binding, history } = chooseSession(services, request);
  const { maxTurns = null } = request;
  const agent = maxTurns === null ? stored : { ...stored, settings: { ...stored.settings, maxTurns } };
  const model = await models.get(agent, request.modelProvider ?? undefined, request.modelId ?? undefined);
  const { question, instructions } = request;
  const chat = openChat(db, resources, {
    ...{ sessionId, agent, model, history, question, instructions, binding },
    timeoutMs: chatTimeoutMs,
  });
  const slot = chats.admit(sessionId);
  return {
    sessionId,
    abandon: slot.abandon,
    async answer(listener) {
      try {
        const answered = await answerChat(chat, listener, slot.signal);
        const trace = await saveScored(db, answered.trace);
        live?.add(trace);
        return { ...answered, trace };
      } finally {
        slot.release();
      }
    },
  };
}

/**
 * A session remains bound to its agent, mailbox and date. Otherwise an answer could reveal email that was opened under
 * another binding.
 */
function chooseSession({ db }: ChatServices, request: ChatRequest) {
  const { inbox = null, queryDate = null, history } = request;
  const earlierId = request.sessionId ?? request.continuedFrom;
  if (earlierId === undefined) {
    const binding: MailboxBinding = { inbox: inbox === null ? null : resolveInbox(db, inbox), queryDate };
    return { sessionId: newSessionId(), binding, history };
  }
  const session = getSession(db, earlierId);
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
  return request.sessionId == null
    ? { sessionId: newSessionId(), binding, history }
    : { sessionId: session.id, binding, history: sessionMessages(db, session.id) };
}

function newSessionId(): string {
  return `session_${randomUUID()}`;
}

/**
 * Saves a chat with the scores of the evals in use. Excludes evals that see the gold answer, which chats do not have,
 * and rubrics, because each chat would then cost a model call.
 */
async function saveScored(db: Db, trace: ChatTrace): Promise<ChatTrace> {
  const scored = isFailure(trace.ending) ? trace : await scoreChat(db, trace);
  saveChat(db, scored);
  return scored;
}

async function scoreChat(db: Db, trace: ChatTrace): Promise<ChatTrace> {
  const evals = evalsWithoutModels(
    listEvals(db).filter(({ status, definition }) => status === "active" && !definition.reference),
  );
  // The chat has been answered, so it is scored even if the caller has disconnected.
  const [outcomes = []] = await evals.run([trace], NEVER);
  return withEvals(trace, evals.definitions, outcomes);
}

/** An email that an answer cites. `mail` is null if the mailbox does not contain it. */
export interface CitedMail {
  readonly messageId: string;
  readonly mail: { readonly subject: string; readonly sender: string; readonly date: string | null } | null;
}

/** Looks up the emails cited by an answer, with the same access as its agent. */
function citedMails({ sources, inbox, queryDate }: ChatTrace, mailbox: Mailbox): CitedMail[] {
  const context = { inbox, cutoff: queryDate === null ? null : endOfDay(queryDate), signal: NEVER };
  return sources.map((messageId) => {
    const found = findReadableMail(messageId, context, mailbox);
    if (!found.ok) return { messageId, mail: null };
    const { subject, sender, date } = found.mail;
    return { messageId: found.mail.messageId, mail: { subject, sender, date } };
  });
}

/** A message to an agent, and its binding and limits. */
interface Chat {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly agentVersion: number;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** Excludes the system prompt. */
  readonly history: readonly Message[];
  readonly question: string;
  /** Text to append to the agent's prompt, or null. */
  readonly instructions: string | null;
  readonly binding: MailboxBinding;
  readonly timeoutMs: number;
}

/** Receives the progress of an answer. */
type ChatListener = Pick<AgentTask, "onStep" | "onActivity">;

export interface AnsweredChat {
  readonly trace: ChatTrace;
  /** The model's error if the ending is model_error, otherwise null. */
  readonly failure: ModelError | null;
}

/** Adds the agent's version and tools. Throws for a tool that cannot be used. */
function openChat(db: Db, resources: ToolResources, chat: Omit<Chat, "agentVersion" | "tools">): Chat {
  const { agent } = chat;
  return { ...chat, agentVersion: saveCurrentVersion(db, agent.id), tools: loadTools(db, agent.id, resources) };
}

/**
 * Answers one message like a task of a run, within the bound mailbox and date. Errors of the model or its server
 * determine the trace's ending and are not thrown.
 */
async function answerChat(chat: Chat, listener: ChatListener, signal: AbortSignal): Promise<AnsweredChat> {
  const { agent, model, tools, history, question, instructions, binding, timeoutMs } = chat;
  const { inbox, queryDate } = binding;
  const { maxTurns } = agent.settings;
  const variables = {
    inbox_address: inbox ?? "(not named: take its address from the question)",
    query_date: queryDate ?? new Date().toISOString().slice(0, 10),
  };
  const attempted = await attemptAnswer(
    agentLoop({ agent, model, tools, maxTaskCostUsd: null }),
    {
      task: { id: null, epoch: 1, instruction: question, variables, maxTurns, instructions, history, ...listener },
      access: { inbox, cutoff: queryDate === null ? null : endOfDay(queryDate) },
      timeoutMs,
      // Null for a bug in this program, which must not be recorded as a model failure.
      endingOf: (thrown) => (thrown instanceof ModelError ? "model_error" : null),
    },
    signal,
  );
  const { sessionId, agentVersion } = chat;
  const trace = newChatTrace(
    {
      ...{ sessionId, agentId: agent.id, agentVersion, model: model.id, maxTurns },
      ...{ question, binding, historyLength: history.length },
    },
    attempted,
  );
  const { thrown } = attempted;
  return { trace, failure: trace.ending === "model_error" && thrown instanceof ModelError ? thrown : null };
}
