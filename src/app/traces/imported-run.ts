import { createHash } from "node:crypto";
import { agentSettingsSchema } from "../../domain/agents/agent.js";
import type { ToolSpec } from "../../domain/models/model.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import type { TaskSet } from "../../domain/tasks/suite.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { isScorerName, SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { completeImportedRun, hasRun } from "../../store/runs/imported-runs.js";
import { saveTasks } from "../../store/runs/planned-tasks.js";
import { openRowWriter, toResultRow } from "../../store/runs/results.js";
import { insertRun } from "../../store/runs/runs.js";
import type { RunFacts } from "../../trace-imports/imported-trace.js";
import { notUsable } from "../../trace-imports/parse-line.js";
import { toTaskResult } from "../run/to-task-result.js";

/** The file that traces are imported from. */
export interface ImportedFile {
  readonly format: string;
  readonly name: string;
  readonly sha256: string;
}

/** A run of another database or another program, made of the traces that name it. */
export class ImportedRunWriter {
  private readonly write: ReturnType<typeof openRowWriter>;
  private readonly tasks = new Set<string>();
  private readonly scorers = new Set<string>();
  private readonly set: TaskSet;
  private readonly settings: RunSettings;
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
    if (hasRun(db, first.runId)) throw notUsable(where, `run ${first.runId} is in this database already`);
    this.runId = first.runId;
    this.write = openRowWriter(db);
    const split = isSuiteTrace(first) ? "suite" : (facts.split ?? first.task.split ?? "test");
    this.set = { source: file.name, revision: null, ...facts.dataset, sha256: file.sha256, split };
    this.settings = { ...settingsOf(first, file), ...facts.settings };
    this.startedAt = first.startedAt;
    this.completedAt = first.endedAt;
    insertRun(db, {
      id: first.runId,
      agentId: first.agentId,
      model: first.model,
      datasetId: saveTasks(db, this.set, []),
      split,
      settings: this.settings,
      corpusFingerprint: facts.corpusFingerprint ?? "",
      totalTasks: 0,
      startedAt: first.startedAt,
    });
  }

  add(trace: Trace, where: string): void {
    const task = `${trace.epoch} ${trace.taskId}`;
    if (this.tasks.has(task)) throw notUsable(where, `task ${trace.taskId} of run ${trace.runId} stands there twice`);
    this.tasks.add(task);
    if (!isSuiteTrace(trace)) saveTasks(this.db, this.set, [trace.task]);
    this.write(toResultRow(trace, toTaskResult(trace), isFailure(trace.ending)));
    for (const name of Object.keys(trace.scores)) if (isScorerName(name)) this.scorers.add(name);
    this.epochs = Math.max(this.epochs, trace.epoch);
    if (trace.startedAt < this.startedAt) this.startedAt = trace.startedAt;
    if (trace.endedAt > this.completedAt) this.completedAt = trace.endedAt;
  }

  /** `tools`: what the model was told of them. */
  complete(tools: readonly ToolSpec[]): void {
    const { db, facts, settings, epochs, startedAt, completedAt, tasks } = this;
    const { imported } = settings;
    completeImportedRun(db, {
      id: this.runId,
      settings: {
        ...settings,
        tools: tools.map(({ name }) => name),
        epochs,
        scorers: Object.keys(SCORERS).filter((name) => this.scorers.has(name)),
        ...(imported === undefined ? {} : { imported: { ...imported, tools } }),
      },
      totalTasks: tasks.size,
      startedAt: facts.startedAt ?? startedAt,
      completedAt,
      status: facts.status ?? "completed",
      tags: facts.tags ?? [],
    });
  }
}

const TASK_TIMEOUT_MS = 600_000;

function settingsOf(trace: Trace, { format, name, sha256 }: ImportedFile): RunSettings {
  const { maxTokens, toolCalls, toolChoice } = agentSettingsSchema.parse({});
  const [first] = trace.messages;
  return {
    agentId: trace.agentId,
    agentVersion: 0,
    model: trace.model,
    baseUrl: null,
    wireApi: null,
    prompt: first?.role === "system" ? first.content : "",
    tools: [],
    toolsDigest: createHash("sha256").update("[]").digest("hex"),
    maxTurns: Math.max(1, trace.maxTurns),
    maxTokens,
    temperature: null,
    toolCalls,
    toolChoice,
    cutoff: "query_date",
    taskTimeoutMs: TASK_TIMEOUT_MS,
    maxTaskCostUsd: null,
    price: null,
    concurrency: 1,
    selection: {},
    epochs: 1,
    scorers: [],
    judge: trace.judge === null ? null : judgeOf(trace.judge),
    imported: { format, file: name, sha256, tools: [] },
  };
}

function judgeOf({ model, baseUrl, protocol, version, votes }: NonNullable<Trace["judge"]>): RunSettings["judge"] {
  return { model, baseUrl, protocol, version, votes };
}
