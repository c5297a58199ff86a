import { createHash } from "node:crypto";
import { isFailure } from "../domain/ending.js";
import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import type { PlannedTask, QuestionSet } from "../domain/question.js";
import type { RunSettings } from "../domain/result.js";
import type { Trace } from "../domain/trace.js";
import { keepCurrent } from "../registry/versions.js";
import { answerQuestion } from "../runner/answer-question.js";
import { beginRun } from "../runner/begin.js";
import { checkInbox } from "../runner/check-inbox.js";
import { toTaskResult } from "../runner/task-result.js";
import { getAgent } from "../store/agents.js";
import { type Db, openStore } from "../store/open.js";
import { resultWriter } from "../store/result-writer.js";
import { finishRun } from "../store/runs.js";
import { openMailbox } from "../tools/mailbox.js";
import { openOutside } from "../tools/outside.js";
import { attachedOrDefault, toTool } from "../tools/registry.js";
import { answerJson, answerText, citedMails } from "./ask-answer.js";
import { ASK_FLAGS, type AskFlags, askSchema, chooseAgent } from "./ask-flags.js";
import type { Command, Door } from "./command.js";
import { readFlags } from "./flags.js";
import { Interrupted } from "./interrupt.js";
import { readyModel } from "./run-model.js";
import { agentOf, newRunId, newSettings } from "./run-plan.js";
import { thisWorker } from "./worker.js";

/** One question answered here and now, as a run of one task that has no gold answer. */
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
  const settings: RunSettings = {
    ...newSettings(db, chosen, getAgent(db, agentId), door),
    scorers: [],
    judge: null,
    cutoff: flags.before === undefined ? "off" : "query_date",
  };
  const set = questionSet(inbox, flags);
  const [question] = set.questions;
  const task: PlannedTask = { question, epoch: 1 };
  const trace = await answer(db, { settings, flags: chosen, task }, door);
  await save(db, trace, settings, set, task);
  const cited = citedMails(trace, settings.cutoff, openMailbox(db));
  door.out.result(answerJson(trace, cited), () => answerText(trace, cited));
  return trace.answer === null ? EXIT.failed : EXIT.done;
}

/** A set of the one question. Its day is today, or with --before the day before that one. */
function questionSet(
  inbox: string,
  { question, before }: AskFlags,
): QuestionSet & { questions: readonly [PlannedTask["question"]] } {
  const day = before === undefined ? new Date() : new Date(Date.parse(`${before}T00:00:00Z`) - 1);
  const query_date = day.toISOString().slice(0, 10);
  const asked = { id: 1, question, answer: "", message_ids: [], how_realistic: 1, inbox_address: inbox, query_date };
  const sha256 = createHash("sha256").update(JSON.stringify(asked)).digest("hex");
  return { source: "art-e ask", revision: null, sha256, split: "test", questions: [asked] };
}

interface Asked {
  readonly settings: RunSettings;
  readonly flags: AskFlags;
  readonly task: PlannedTask;
}

/** Throws where there is nothing to keep: the key is refused, or the user has stopped it. */
async function answer(db: Db, { settings, flags, task }: Asked, door: Door): Promise<Trace> {
  const model = await readyModel(settings, flags, door.settings, false);
  const outside = openOutside(door.settings.env);
  const mailbox = openMailbox(db);
  let hopeless: string | null = null;
  try {
    const tools = attachedOrDefault(db, settings.agentId).map((tool) => toTool(tool, { mailbox, outside }));
    const trace = await answerQuestion(
      {
        runId: newRunId(),
        agent: agentOf(settings),
        model: model.model,
        tools,
        cutoff: settings.cutoff,
        taskTimeoutMs: settings.taskTimeoutMs,
        maxTaskCostUsd: settings.maxTaskCostUsd,
        // There is no gold answer to compare with.
        grading: { sameMail: (id) => id, scorers: [], judge: null },
        priceOf: (usage) => model.priceOf(usage),
      },
      task,
      door.signal,
      (why) => {
        hopeless = why;
      },
    );
    if (hopeless !== null) throw new UserError("ask_failed", hopeless, "Check the key and --model-id.", EXIT.failed);
    if (trace.ending === "interrupted") throw new Interrupted("stopped.");
    return trace;
  } finally {
    model.close();
    await outside.close();
  }
}

async function save(db: Db, trace: Trace, settings: RunSettings, set: QuestionSet, task: PlannedTask): Promise<void> {
  keepCurrent(db, settings.agentId);
  beginRun(db, { runId: trace.runId, set, tasks: [task], settings, worker: thisWorker });
  await resultWriter(db).save(trace, toTaskResult(trace), isFailure(trace.ending));
  finishRun(db, trace.runId, "completed", trace.endedAt, trace.durationMs);
}
