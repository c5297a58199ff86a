import { randomUUID } from "node:crypto";
import type { ChatTrace } from "../domain/chat.js";
import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import { keepCurrent } from "../registry/versions.js";
import { type AnsweredChat, answerChat } from "../runner/answer-chat.js";
import { checkInbox } from "../runner/check-inbox.js";
import { getAgent } from "../store/agents.js";
import { type Db, openStore } from "../store/open.js";
import { saveChat } from "../store/sessions.js";
import { openMailbox } from "../tools/mailbox.js";
import { openOutside } from "../tools/outside.js";
import { attachedOrDefault, toTool } from "../tools/registry.js";
import { answerJson, answerText, citedMails } from "./ask-answer.js";
import { ASK_FLAGS, type AskFlags, askSchema, chooseAgent } from "./ask-flags.js";
import type { Command, Door } from "./command.js";
import { readFlags } from "./flags.js";
import { Interrupted } from "./interrupt.js";
import { noting } from "./noting.js";
import { readyModel } from "./run-model.js";
import { agentOf, newSettings } from "./run-settings.js";
import { notesOnSent } from "./sent-settings.js";

/** One question answered here and now: a chat of its own. */
export const askCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    question: { type: "string", array: true, describe: "What its owner wants to know" },
  },
  flags: ASK_FLAGS,
  async run(argv, door) {
    const flags = readFlags("ask", askSchema, argv);
    const db = openStore(door.settings.db, { mustExist: true });
    try {
      return await ask(db, flags, door);
    } finally {
      db.close();
    }
  },
};

async function ask(db: Db, flags: AskFlags, door: Door): Promise<ExitCode> {
  const inbox = checkInbox(db, flags.inbox_address);
  const { agentId, chosen } = chooseAgent(flags, door);
  const trace = whole(await answer(db, inbox, agentId, chosen, door), chosen);
  saveChat(db, trace);
  const cited = citedMails(trace, openMailbox(db));
  door.out.result(answerJson(trace, cited), () => answerText(trace, cited));
  return trace.answer === null ? EXIT.failed : EXIT.done;
}

async function answer(db: Db, inbox: string, agentId: string, flags: AskFlags, door: Door): Promise<AnsweredChat> {
  const settings = newSettings(db, flags, getAgent(db, agentId), door);
  for (const note of notesOnSent(settings)) door.out.note(note);
  const model = await readyModel(settings, flags, door.settings, false);
  const outside = openOutside(door.settings.env);
  const mailbox = openMailbox(db);
  try {
    return await answerChat(
      {
        sessionId: `session_${randomUUID()}`,
        agent: agentOf(settings),
        agentVersion: keepCurrent(db, agentId),
        model: noting(model.model, door.out.note),
        tools: attachedOrDefault(db, agentId).map((tool) => toTool(tool, { mailbox, outside })),
        history: [],
        question: flags.question,
        instructions: null,
        binding: { inbox, queryDate: flags.before === undefined ? null : dayBefore(flags.before) },
        timeoutMs: settings.taskTimeoutMs,
        priceOf: model.priceOf,
      },
      () => undefined,
      door.signal,
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
