import { randomUUID } from "node:crypto";
import { EXIT, UserError } from "../../domain/errors.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { API_KEY_VARIABLES } from "../../models/provider-names.js";
import { saveChat } from "../../store/chats/sessions.js";
import type { Db } from "../../store/connection/open-store.js";
import { getAgent } from "../../store/registry/agent-rows.js";
import { attachedOrDefault } from "../../tools/attached-tools.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import { toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { scoreChat } from "../evals/score-chat.js";
import { saveCurrentVersion } from "../registry/versions.js";
import { createModel } from "../run/create-model.js";
import { newRunSettings } from "../run/plan/new-settings.js";
import type { RunOptions } from "../run/plan/run-options.js";
import { notesOnSent } from "../run/plan/sent-parameters.js";
import { agentOf } from "../run/plan/stored-settings.js";
import { warnOfOtherModel } from "../run/warn-of-other-model.js";
import { answeringModelOf } from "../settings/answering-model.js";
import { type AppContext, Interrupted } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { type AnsweredChat, answerChat } from "./answer-chat.js";
import { type CitedMail, citedMails } from "./cited-mails.js";
import { resolveInbox } from "./resolve-inbox.js";

export interface AskOptions extends RunOptions {
  readonly inbox_address: string;
  readonly question: string;
  /** Mail from this day on is invisible. */
  readonly before?: string | undefined;
}

export interface AnsweredQuestion {
  readonly trace: ChatTrace;
  readonly cited: readonly CitedMail[];
}

/** Answers one question from a mailbox, and stores it as a chat of its own. */
export function ask(options: AskOptions, context: AppContext): Promise<AnsweredQuestion> {
  return withStore(context.settings, async (db) => {
    const inbox = resolveInbox(db, options.inbox_address);
    const { agentId, chosen } = chooseAgent(options, context);
    const answered = storable(await answer(db, inbox, agentId, chosen, context), chosen);
    const trace = await scoreChat(db, answered);
    saveChat(db, trace);
    return { trace, cited: citedMails(trace, openMailbox(db)) };
  });
}

/** The agent and model where none is named: what the keys of the environment allow. Notes its choice. */
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
  note(`No API key is set (${variables}): asking the offline baseline, which is no language model.`);
  return { agentId: "baseline", chosen: options };
}

async function answer(
  db: Db,
  inbox: string,
  agentId: string,
  options: AskOptions,
  context: AppContext,
): Promise<AnsweredChat> {
  const settings = newRunSettings(db, options, getAgent(db, agentId), context);
  for (const note of notesOnSent(settings)) context.note(note);
  const model = await createModel(settings, options, context.settings, {
    append: false,
    callsModel: true,
  });
  const outside = openExternalResources(context.settings.env);
  const mailbox = openMailbox(db);
  try {
    return await answerChat(
      {
        sessionId: `session_${randomUUID()}`,
        agent: agentOf(settings),
        agentVersion: saveCurrentVersion(db, agentId),
        model: warnOfOtherModel(model.model, context.note),
        tools: attachedOrDefault(db, agentId).map((tool) => toTool(tool, { mailbox, outside })),
        history: [],
        question: options.question,
        instructions: null,
        binding: { inbox, queryDate: options.before === undefined ? null : dayBefore(options.before) },
        timeoutMs: settings.taskTimeoutMs,
      },
      {},
      context.signal,
    );
  } finally {
    model.close();
    await outside.close();
  }
}

function dayBefore(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10);
}

/** Throws where there is nothing to keep: the key is refused, or the user has stopped it. */
function storable({ trace, failure }: AnsweredChat, { modelId }: AskOptions): ChatTrace {
  if (trace.ending === "interrupted") throw new Interrupted("stopped.");
  if (failure?.kind === "auth" || failure?.kind === "not_found") {
    const hint = `Check the key${modelId === undefined ? "" : `, and the model ${modelId}`}.`;
    throw new UserError("ask_failed", failure.message, hint, EXIT.failed);
  }
  return trace;
}
