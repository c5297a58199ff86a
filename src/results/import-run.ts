// Imports another program's traces as a run, all or none.
import { basename } from "node:path";
import type { ToolSpec } from "../models/model.js";
import type { AppContext } from "../platform/app-context.js";
import { sha256OfFile } from "../platform/sha256.js";
import { isScorerName, SCORERS } from "../scoring/scorers.js";
import { type Db, openStore } from "../store/open-store.js";
import { waitForWriter, withImportTransaction } from "../store/write-transaction.js";
import type { TaskSet } from "../tasks/question.js";
import { notUsable, type RunFacts } from "../trace-formats/imported-trace.js";
import { openImport } from "../trace-formats/open-import.js";
import { saveChat } from "../traces/chats-store.js";
import { judgeSettingsSchema } from "../traces/judgment.js";
import { openRowWriter, toResultRow } from "../traces/result-writer.js";
import { saveTasks } from "../traces/results-store.js";
import type { ImportedRunSettings } from "../traces/run-settings.js";
import { completeImportedRun, hasRun, insertRun } from "../traces/runs-store.js";
import { toTaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import { hasTrace } from "../traces/traces-store.js";
import { storeRunFigures } from "./run-summaries.js";

export interface ImportedTraces {
  readonly format: string;
  readonly runs: readonly string[];
  readonly traces: number;
  /** Number of traces without a task, stored as chats. */
  readonly chats: number;
  readonly lacking: Readonly<Record<string, number>>;
}

interface ImportedFile {
  readonly format: string;
  readonly name: string;
  readonly sha256: string;
}

/** Reads the traces in a file into the database: all of them, or none if one is unusable. */
export async function importTraces(path: string, context: AppContext): Promise<ImportedTraces> {
  const { settings, signal } = context;
  const source = await openImport(path);
  const sha256 = await sha256OfFile(path, signal);
  const file: ImportedFile = { format: source.format, name: basename(path), sha256 };
  const db = openStore(settings.db, { mustExist: false });
  try {
    const imported = await withImportTransaction(db, waitForWriter(context, signal), async () => {
      const runs = new Map<string, ImportedRunWriter>();
      let traces = 0;
      let chats = 0;
      for await (const { trace, where } of source.traces()) {
        signal.throwIfAborted();
        if (hasTrace(db, trace.traceId)) throw notUsable(where, `trace ${trace.traceId} is already in this database`);
        if (trace.kind === "chat") {
          saveChat(db, trace);
          chats++;
          continue;
        }
        const run = runs.get(trace.runId) ?? new ImportedRunWriter(db, trace, file, source.run(), where);
        runs.set(trace.runId, run);
        run.add(trace, where);
        traces++;
      }
      for (const run of runs.values()) run.complete(source.tools());
      return { format: source.format, runs: [...runs.keys()], traces, chats, lacking: source.lacking() };
    });
    for (const runId of imported.runs) await storeRunFigures(db, runId);
    return imported;
  } finally {
    db.close();
  }
}

class ImportedRunWriter {
  private readonly write: ReturnType<typeof openRowWriter>;
  private readonly tasks = new Set<string>();
  private readonly scorers = new Set<string>();
  private readonly set: TaskSet;
  private readonly settings: ImportedRunSettings;
  private readonly runId: string;
  private epochs = 1;
  private startedAt: string;
  private completedAt: string;

  constructor(
    private readonly db: Db,
    first: Trace,
    file: ImportedFile,
    private readonly facts: RunFacts,
    where: string,
  ) {
    if (hasRun(db, first.runId)) throw notUsable(where, `run ${first.runId} is already in this database`);
    this.runId = first.runId;
    this.write = openRowWriter(db);
    const split = first.kind === "suite" ? "suite" : (facts.split ?? first.task.split ?? "test");
    this.set = { source: file.name, revision: null, ...facts.dataset, sha256: file.sha256, split };
    this.settings = { ...settingsOf(first, file), ...facts.settings };
    this.startedAt = first.startedAt;
    this.completedAt = first.endedAt;
    insertRun(db, {
      id: first.runId,
      agentId: first.agentId,
      model: first.model,
      datasetId: saveTasks(db, this.set, []),
      source: this.set.source,
      revision: this.set.revision,
      split,
      settings: this.settings,
      corpusFingerprint: facts.corpusFingerprint ?? "",
      totalTasks: 0,
      startedAt: first.startedAt,
    });
  }

  add(trace: Trace, where: string): void {
    const task = `${trace.epoch} ${trace.taskId}`;
    if (this.tasks.has(task)) throw notUsable(where, `task ${trace.taskId} of run ${trace.runId} occurs twice`);
    this.tasks.add(task);
    if (trace.kind === "question") saveTasks(this.db, this.set, [trace]);
    this.write(toResultRow(trace, toTaskResult(trace)));
    for (const name of Object.keys(trace.scores)) if (isScorerName(name)) this.scorers.add(name);
    this.epochs = Math.max(this.epochs, trace.epoch);
    if (trace.startedAt < this.startedAt) this.startedAt = trace.startedAt;
    if (trace.endedAt > this.completedAt) this.completedAt = trace.endedAt;
  }

  complete(tools: readonly ToolSpec[]): void {
    const { db, facts, settings, epochs, startedAt, completedAt, tasks } = this;
    completeImportedRun(db, {
      id: this.runId,
      settings: {
        ...settings,
        tools: tools.map(({ name }) => name),
        epochs,
        scorers: Object.keys(SCORERS).filter((name) => this.scorers.has(name)),
        imported: { ...settings.imported, tools },
      },
      totalTasks: tasks.size,
      startedAt: facts.startedAt ?? startedAt,
      completedAt,
      status: facts.status ?? "completed",
      tags: facts.tags ?? [],
    });
  }
}

function settingsOf(trace: Trace, { format, name, sha256 }: ImportedFile): ImportedRunSettings {
  const [first] = trace.messages;
  return {
    kind: "imported",
    agentId: trace.agentId,
    model: trace.model,
    ...(first?.role === "system" ? { prompt: first.content } : {}),
    tools: [],
    maxTurns: Math.max(1, trace.maxTurns),
    epochs: 1,
    scorers: [],
    judge: trace.judge === null ? null : judgeSettingsSchema.parse(trace.judge),
    imported: { format, file: name, sha256, tools: [] },
  };
}
