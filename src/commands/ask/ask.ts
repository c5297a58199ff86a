import { randomUUID } from "node:crypto";
import { type AnsweredChat, answerChat } from "../../app/chat/answer-chat.js";
import { resolveInbox } from "../../app/chat/resolve-inbox.js";
import { saveCurrentVersion } from "../../app/registry/versions.js";
import { createModel } from "../../app/run/create-model.js";
import { withOtherModelNotes } from "../../app/run/note-other-model.js";
import { agentOf, newRunSettings } from "../../app/run/run-settings.js";
import { notesOnSent } from "../../app/run/sent-parameters.js";
import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { saveChat } from "../../store/chats/sessions.js";
import { type Db, openStore } from "../../store/connection/open-store.js";
import { getAgent } from "../../store/registry/agents.js";
import { openExternalResources } from "../../tools/external/external-resources.js";
import { attachedOrDefault, toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/mailbox.js";
import type { Command, CommandContext } from "../cli/command.js";
import { Interrupted } from "../cli/interrupt.js";
import { readFlags } from "../cli/read-flags.js";
import { answerJson, answerText, citedMails } from "./ask-answer.js";
import { ASK_FLAGS, type AskFlags, askSchema, chooseAgent } from "./ask-flags.js";

/** One question answered here and now: a chat of its own. */
export const askCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    question: { type: "string", array: true, describe: "What its owner wants to know" },
  },
  flags: ASK_FLAGS,
  async run(argv, context) {
    const flags = readFlags("ask", askSchema, argv);
    const db = openStore(context.settings.db, { mustExist: true });
    try {
      return await ask(db, flags, context);
    } finally {
      db.close();
    }
  },
};

async function ask(db: Db, flags: AskFlags, context: CommandContext): Promise<ExitCode> {
  const inbox = resolveInbox(db, flags.inbox_address);
  const { agentId, chosen } = chooseAgent(flags, context);
  const trace = whole(await answer(db, inbox, agentId, chosen, context), chosen);
  saveChat(db, trace);
  const cited = citedMails(trace, openMailbox(db));
  context.out.result(answerJson(trace, cited), () => answerText(trace, cited));
  return trace.answer === null ? EXIT.failed : EXIT.done;
}

async function answer(
  db: Db,
  inbox: string,
  agentId: string,
  flags: AskFlags,
  context: CommandContext,
): Promise<AnsweredChat> {
  const settings = newRunSettings(db, flags, getAgent(db, agentId), context);
  for (const note of notesOnSent(settings)) context.note(note);
  const model = await createModel(settings, flags, context.settings, {
    append: false,
    isEstimate: false,
  });
  const outside = openExternalResources(context.settings.env);
  const mailbox = openMailbox(db);
  try {
    return await answerChat(
      {
        sessionId: `session_${randomUUID()}`,
        agent: agentOf(settings),
        agentVersion: saveCurrentVersion(db, agentId),
        model: withOtherModelNotes(model.model, context.note),
        tools: attachedOrDefault(db, agentId).map((tool) => toTool(tool, { mailbox, outside })),
        history: [],
        question: flags.question,
        instructions: null,
        binding: { inbox, queryDate: flags.before === undefined ? null : dayBefore(flags.before) },
        timeoutMs: settings.taskTimeoutMs,
        priceOf: model.priceOf,
      },
      () => undefined,
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
function whole({ trace, failure }: AnsweredChat, { modelId }: AskFlags): ChatTrace {
  if (trace.ending === "interrupted") throw new Interrupted("stopped.");
  if (failure?.kind === "auth" || failure?.kind === "not_found") {
    const hint = `Check the key${modelId === undefined ? "" : `, and the model ${modelId}`}.`;
    throw new UserError("ask_failed", failure.message, hint, EXIT.failed);
  }
  return trace;
}
