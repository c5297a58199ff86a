// Collects the figures and table rows of a report from a run's tasks, one at a time.
import { meanOf } from "../statistics/intervals.js";
import { quantile } from "../statistics/quantile.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import { bandOf } from "../traces/score-bands.js";
import { modelAndToolTimeOf, type TaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import {
  OUTCOMES,
  type Outcome,
  type ProfileCell,
  type QuestionRow,
  type ReportTasks,
  type ScoreMeaning,
  STAGES,
  type Stage,
  type SuiteTaskRow,
  type TaskRow,
  type ToolUse,
} from "./report-data.js";

/** The tasks of a report as table rows. A question that several runs answered is stored once. */
export class TaskRows {
  private readonly questions: QuestionRow[] = [];
  private readonly indexes = new Map<string, number>();
  private readonly rows: TaskRow[][] = [];

  constructor(private readonly meanings: readonly ScoreMeaning[]) {}

  add(run: number, result: TaskResult, toolCalls: number | null): void {
    const row: TaskRow = [
      this.questionOf(result),
      result.epoch,
      result.agentAnswer,
      result.ending,
      result.turns,
      modelAndToolTimeOf(result),
      result.costUsd,
      stageOf(result),
      this.meanings.map(({ name }) => roundOff(result.scores[name] ?? null)),
      result.error ?? null,
      result.suite === undefined ? null : [result.suite.state, result.suite.reason, toolCalls],
    ];
    while (this.rows.length <= run) this.rows.push([]);
    this.rows[run]?.push(row);
  }

  all(): ReportTasks {
    return { questions: this.questions, rows: this.rows };
  }

  private questionOf(result: TaskResult): number {
    const { taskId, question, groundTruth, inbox, queryDate, goldSources } = result;
    const realism = roundOff(result.howRealistic) ?? 0;
    const facts = suiteFacts(result);
    const row: QuestionRow = [taskId, question, groundTruth, inbox, queryDate ?? "", realism, goldSources, facts];
    const key = JSON.stringify(row);
    const existing = this.indexes.get(key);
    if (existing !== undefined) return existing;
    this.indexes.set(key, this.questions.length);
    return this.questions.push(row) - 1;
  }
}

function suiteFacts({ suite }: TaskResult): SuiteTaskRow | null {
  if (suite === undefined) return null;
  const { tool, snapshot, tags, relatedApps, actionNumber, counterpart } = suite;
  return [tool, snapshot, tags, relatedApps, actionNumber, counterpart];
}

/** Rounds to four digits, which is more than the table shows. */
function roundOff(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10_000) / 10_000;
}

/** Counts the calls and errors of each tool, and the tasks that used it. */
export class ToolUseTally {
  private readonly tools = new Map<string, { calls: number; errors: number; tasks: number; ms: number }>();

  add(trace: Trace): void {
    const seen = new Set<string>();
    for (const { name, error, durationMs } of trace.toolCalls) {
      const tool = this.tools.get(name) ?? { calls: 0, errors: 0, tasks: 0, ms: 0 };
      tool.calls++;
      tool.ms += durationMs;
      if (error !== null) tool.errors++;
      if (!seen.has(name)) tool.tasks++;
      seen.add(name);
      this.tools.set(name, tool);
    }
  }

  all(): ToolUse[] {
    return [...this.tools]
      .map(([name, { ms, ...tool }]) => ({ name, ...tool, meanMs: ms / tool.calls }))
      .sort((a, b) => b.calls - a.calls);
  }
}

const BINS = 20;
/** Maximum number of distinct messages, most frequent first. */
const MESSAGES = 12;

function mostFrequent(counts: ReadonlyMap<string, number>) {
  return [...counts]
    .map(([message, tasks]) => ({ message, tasks }))
    .sort((a, b) => b.tasks - a.tasks)
    .slice(0, MESSAGES);
}

/** Collects the figures of a run that its totals do not contain, task by task. Stores only figures, no tasks. */
export class RunTally {
  private failed = 0;
  private notRunnable = 0;
  private completed = 0;
  private readonly tools = new ToolUseTally();
  private readonly endings: Partial<Record<Ending, number>> = {};
  private readonly profile = new Map<string, number>();
  private readonly errors = new Map<string, number>();
  private readonly refusals = new Map<string, number>();
  private readonly bins = new Map<string, number[]>();
  private readonly turns: number[] = [];
  private readonly times: number[] = [];
  private waitingMs = 0;

  constructor(
    private readonly meanings: readonly ScoreMeaning[],
    private readonly leading: string,
  ) {}

  /** `trace` is null for a results file, which does not contain the called tools. */
  add(result: TaskResult, trace: Trace | null): void {
    this.endings[result.ending] = (this.endings[result.ending] ?? 0) + 1;
    if (result.turns !== null) this.turns[result.turns] = (this.turns[result.turns] ?? 0) + 1;
    if (trace !== null) this.tools.add(trace);
    increment(this.profile, `${stageOf(result)} ${classifyTask(result, this.leading)}`);
    // Files created in a suite task can be graded even after a timeout.
    for (const { name } of this.meanings) this.addToBin(name, result.scores[name] ?? null);
    if (result.ending === "refused") increment(this.refusals, result.refusal ?? "The reason was not recorded");
    if (result.ending === "not_runnable") {
      this.notRunnable++;
      return;
    }
    if (isFailure(result.ending)) {
      this.failed++;
      increment(this.errors, result.error ?? result.ending);
      return;
    }
    this.times.push(modelAndToolTimeOf(result));
    this.waitingMs += result.waitingTimeMs;
    this.completed++;
  }

  figures() {
    return {
      tasks: this.completed + this.failed + this.notRunnable,
      completed: this.completed,
      failed: this.failed,
      latency: {
        mean: meanOf(this.times),
        p50: quantile(this.times, 0.5),
        p95: quantile(this.times, 0.95),
        waiting: this.completed === 0 ? null : this.waitingMs / this.completed,
      },
      endings: this.endings,
      profile: this.cells(),
      errors: mostFrequent(this.errors),
      refusals: mostFrequent(this.refusals),
      distribution: Object.fromEntries(this.bins),
      turns: Array.from(this.turns, (tasks) => tasks ?? 0),
      tools: this.tools.all(),
    };
  }

  private addToBin(name: string, value: number | null): void {
    if (value === null || value < 0 || value > 1) return;
    const bins = this.bins.get(name) ?? Array.from({ length: BINS }, () => 0);
    const bin = Math.min(BINS - 1, Math.floor(value * BINS + 1e-9));
    bins[bin] = (bins[bin] ?? 0) + 1;
    this.bins.set(name, bins);
  }

  private cells(): ProfileCell[] {
    const cells = STAGES.flatMap((stage) => OUTCOMES.map((outcome) => ({ stage, outcome })));
    return cells
      .map((cell) => ({ ...cell, tasks: this.profile.get(`${cell.stage} ${cell.outcome}`) ?? 0 }))
      .filter(({ tasks }) => tasks > 0);
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * Returns the agent's progress: it opened a gold email, only got it listed, or never saw it. `none` means that there is
 * no gold email, and `unknown` that art-e did not see the agent's searches.
 */
function stageOf(result: TaskResult): Stage {
  if (isFailure(result.ending)) return "failed";
  if (result.goldSources === 0) return "none";
  if (result.readGold === null || result.foundGold === null) return "unknown";
  if (result.readGold) return "read";
  return result.foundGold ? "found" : "missed";
}

/**
 * Returns the band of the headline score. Suite tasks can be graded after any ending, and their state contains the
 * details.
 */
function classifyTask(result: TaskResult, leading: string): Outcome {
  if (isFailure(result.ending) && result.suite === undefined) return "failed";
  return bandOf(result.scores[leading] ?? null);
}
