// Answers one question from a mailbox, as `art-e ask`, and stores it as a chat.
import { getAgent } from "../agents/registry-store.js";
import { endOfDay } from "../mail/date-range.js";
import { mailboxAndWords } from "../mail/mail-lookup.js";
import { stopsRun } from "../models/failure-classes.js";
import { API_KEY_VARIABLES } from "../models/model-names.js";
import { answeringModelOf } from "../models/open-model.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { NEVER } from "../platform/deadline.js";
import type { Environment } from "../platform/environment.js";
import { EXIT, UserError } from "../platform/errors.js";
import { createModel } from "../runs/model-of-run.js";
import type { RunOptions } from "../runs/run-flags.js";
import { agentOf, newRunSettings, notesOnSent } from "../runs/settings-from-options.js";
import { withStore } from "../store/open-store.js";
import { addDays } from "../text/utc-day.js";
import { findReadableMail, type Mailbox, openMailbox } from "../tools/mailbox.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ChatTrace } from "../traces/trace.js";
import { newSessionId } from "./chat/chat-session.js";
import { type AnsweredChat, openChat, saveScored } from "./chat/chat-turn.js";
import type { OnChatEvent } from "./chat/stream-events.js";

export interface AskOptions extends RunOptions {
  /** The mailbox, unless the first word of the question names it or it is the only one. */
  readonly mailbox?: string | undefined;
  /** Words of the question. */
  readonly question: readonly string[];
  /** Email from this date on is hidden. */
  readonly before?: string | undefined;
}

interface AnsweredQuestion {
  readonly trace: ChatTrace;
  readonly cited: readonly CitedMail[];
}

/** An email that an answer cites. `mail` is null if the mailbox does not contain it. */
export interface CitedMail {
  readonly messageId: string;
  readonly mail: { readonly subject: string; readonly sender: string; readonly date: string | null } | null;
}

/**
 * Answers one question from a mailbox and stores it as a separate chat. With `onEvent`, the answer is streamed.
 */
export function ask(
  options: AskOptions,
  context: AppContext,
  onEvent: OnChatEvent | null = null,
): Promise<AnsweredQuestion> {
  return withStore(context.settings, async (db) => {
    const { inbox, words } = mailboxAndWords(db, options.mailbox, options.question);
    if (words.length === 0) {
      throw new UserError("question_missing", `No question follows the mailbox ${inbox}.`, "Add it after the mailbox.");
    }
    const { agentId, chosen } = chooseAgent(options, context);
    const settings = newRunSettings(db, chosen, getAgent(db, agentId), context);
    for (const note of notesOnSent(settings)) context.note(note);
    const model = await createModel(settings, chosen, context);
    const outside = openExternalResources(context.settings.env);
    const mailbox = openMailbox(db);
    try {
      const answer = openChat(
        db,
        { mailbox, outside },
        {
          sessionId: newSessionId(),
          agent: agentOf(settings),
          model: model.model,
          history: [],
          question: words.join(" ").trim(),
          instructions: null,
          binding: { inbox, queryDate: options.before === undefined ? null : addDays(options.before, -1) },
          timeoutMs: settings.taskTimeoutMs,
          repeated: null,
        },
      );
      const turn = await answer(onEvent, context.signal);
      refuseFailedQuestion(turn, chosen);
      const trace = await saveScored(db, turn.trace);
      return { trace, cited: citedMails(trace, mailbox) };
    } finally {
      model.close();
      await outside.close();
    }
  });
}

/** Chooses agent and model, and notes the choice if the user specifies neither. */
function chooseAgent(options: AskOptions, { settings, note }: AppContext): { agentId: string; chosen: AskOptions } {
  const agentId = options.agent ?? "email-search";
  const chosen = modelToAsk(options, settings.env);
  if (chosen !== null) {
    if (chosen !== options) note(`Asking ${agentId} with ${chosen.modelId}.`);
    return { agentId, chosen };
  }
  note(`${noKey()}: asking the offline baseline, which is not a language model.`);
  return { agentId: "baseline", chosen: options };
}

/**
 * Returns the options with a model of the first provider that the environment has a key for, unless they specify an
 * agent or a model. Null if there is no key.
 */
export function modelToAsk<T extends Omit<AskOptions, "question">>(options: T, env: Environment): T | null {
  const isModelGiven =
    options.modelId !== undefined || options.modelProvider !== undefined || options.baseUrl !== undefined;
  if (isModelGiven || options.agent !== undefined) return options;
  const modelId = answeringModelOf(env);
  return modelId === null ? null : { ...options, modelId };
}

/** Returns the start of a note about missing keys. */
export function noKey(): string {
  return `No API key is set (${Object.values(API_KEY_VARIABLES).flat().join(", ")})`;
}

/** Throws if the answer is not worth storing: the key was refused, the account is empty, or the user interrupted it. */
function refuseFailedQuestion({ trace, failure }: AnsweredChat, { modelId }: AskOptions): void {
  if (trace.ending === "interrupted") throw new Interrupted("stopped.");
  if (failure !== null && stopsRun(failure.kind)) {
    const hint = `Check the key${modelId === undefined ? "" : `, and the model ${modelId}`}.`;
    throw new UserError("ask_failed", failure.message, hint, EXIT.failed);
  }
}

/** Looks up the emails cited by an answer, with the same access as its agent. */
function citedMails({ sources, inbox, queryDate }: ChatTrace, mailbox: Mailbox): CitedMail[] {
  const context = { inbox, cutoff: queryDate === null ? null : endOfDay(queryDate), signal: NEVER };
  return sources.map((messageId) => {
    const result = findReadableMail(messageId, context, mailbox);
    if (!result.ok) return { messageId, mail: null };
    const { subject, sender, date } = result.mail;
    return { messageId: result.mail.messageId, mail: { subject, sender, date } };
  });
}
