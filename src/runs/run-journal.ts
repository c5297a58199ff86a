// Keeps the paid replies of a run's unfinished tasks in the database.
import { randomUUID } from "node:crypto";
import { type JournalEntry, type Senders, TaskJournal } from "../models/reply-journal.js";
import { compact } from "../platform/optional-values.js";
import { sha256Of } from "../platform/sha256.js";
import type { Db } from "../store/open-store.js";
import { epochKey, type TaskEpoch } from "../tasks/epoch-key.js";
import type { PlannedTask } from "../tasks/question.js";
import { counted } from "../text/format.js";
import { type UnfinishedTask, unfinishedTasks } from "../traces/journal-store.js";
import { costOfEntries, turnOf } from "../traces/reply-turns.js";
import type { ResultWriter } from "../traces/result-writer.js";
import type { ExecutedRunSettings, OwnRunSettings } from "../traces/run-settings.js";
import type { TaskCost } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";

/** The reply journals of a run. Replies of tasks that an earlier attempt at the run did not finish are read once. */
export class RunJournal {
  private readonly unfinished = new Map<string, UnfinishedTask>();

  constructor(
    db: Db,
    private readonly runId: string,
    private readonly writer: Pick<ResultWriter, "addReply">,
    private readonly senders: Senders,
  ) {
    for (const task of unfinishedTasks(db, runId)) this.unfinished.set(epochKey(task), task);
  }

  /** Costs of the tasks that an earlier attempt at the run did not finish. */
  get costs(): TaskCost[] {
    return [...this.unfinished.values()].map(({ entries }) => costOfEntries(entries));
  }

  /**
   * Returns lines about the stored replies of unfinished tasks: those that need not be bought again, and those to
   * another model, server or request.
   */
  get notes(): string[] {
    const isUsable = ({ caller, sender }: JournalEntry) => sender === this.senders[caller];
    const stored = [...this.unfinished.values()].map(({ entries }) => entries);
    const tasks = stored.filter((entries) => entries.some(isUsable)).length;
    const [many, whose] = tasks === 1 ? ["1 unfinished task", "Its"] : [`${tasks} unfinished tasks`, "Their"];
    const kept = stored.flat().filter(isUsable).length;
    const unused = stored.flat().length - kept;
    return compact([
      kept > 0 && `art-e: ${many} will continue with ${repliesText(kept)}. ${whose} tool calls are executed again.`,
      unused > 0 &&
        `art-e: ${repliesText(unused)} ${unused === 1 ? "is" : "are"} not used, because the model, its server or its requests have changed. The calls are made again.`,
    ]);
  }

  /** Opens the journal of a task. Call this once per task. */
  open({ task, epoch }: PlannedTask): TaskJournal {
    const place = { taskId: task.id, epoch };
    const stored = this.unfinished.get(epochKey(place));
    this.unfinished.delete(epochKey(place));
    const store = (entry: JournalEntry, position: number) => this.store(place, entry, position);
    return new TaskJournal(stored?.entries ?? [], store, this.senders, stored?.nextPosition);
  }

  /** Stores the journal of an unfinished task that was run elsewhere. */
  async restore(task: TaskEpoch, entries: readonly JournalEntry[]): Promise<void> {
    await Promise.all(entries.map((entry, position) => this.store(task, entry, position)));
  }

  private store({ taskId, epoch }: TaskEpoch, entry: JournalEntry, position: number): Promise<void> {
    return this.writer.addReply({ runId: this.runId, taskId, epoch, position, entry: JSON.stringify(entry) });
  }
}

/** Returns the senders of a run's calls. Messages are compared by request, because they differ from call to call. */
export function sendersOf(settings: ExecutedRunSettings): Senders {
  const { model, judge, extraHeaders, extraBody } = settings;
  return {
    agent: digestOf([model, extraHeaders, extraBody, ...(settings.kind === "own" ? requestSettings(settings) : [])]),
    judge: digestOf([
      judge?.model,
      judge?.baseUrl,
      judge?.protocol,
      judge?.version,
      judge?.reasoningEffort,
      judge?.extraHeaders,
      judge?.extraBody,
    ]),
  };
}

/** The settings that are part of every request of an agent. */
function requestSettings(settings: OwnRunSettings): readonly unknown[] {
  const { baseUrl, wireApi, prompt, toolsDigest, toolChoice, toolResults } = settings;
  const { maxTokens, reasoningTokens, temperature, reasoningEffort } = settings;
  const ofModel = [maxTokens, reasoningTokens, temperature, reasoningEffort];
  return [baseUrl, wireApi, prompt, toolsDigest, toolChoice, toolResults, ...ofModel];
}

function digestOf(parts: readonly unknown[]): string {
  return sha256Of(JSON.stringify(parts)).slice(0, 16);
}

function repliesText(count: number): string {
  return counted(count, "stored reply", "stored replies");
}

/**
 * Returns the paid replies that a task did not use when it was run again, as the trace of an abandoned attempt, so that
 * their cost is not lost. This happens if a tool returned another result than before. Null if all replies were used.
 */
export function abandonedAttempt(trace: Trace, unused: readonly JournalEntry[]): Trace | null {
  if (unused.length === 0) return null;
  const error = "The task was interrupted and run again, and a tool returned another result than before.";
  const attempt = {
    traceId: `trace_${randomUUID()}`,
    sessionId: `session_${randomUUID()}`,
    ending: "interrupted" as const,
    error,
    messages: [],
    toolCalls: [],
    turns: unused.map(({ reply }) => turnOf(reply, trace.startedAt)),
    answer: null,
    sources: [],
    scores: {},
    judge: null,
  };
  if (trace.kind === "question") return { ...trace, ...attempt };
  return { ...trace, ...attempt, grade: { score: null, state: "agent_error", reason: error } };
}
