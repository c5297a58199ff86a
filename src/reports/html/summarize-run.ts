import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { modelAndToolTimeOf } from "../../domain/runs/task-times.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Ending } from "../../domain/tasks/task-ending.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { meanOf } from "../../statistics/mean.js";
import { quantile } from "../../statistics/quantile.js";
import type { ProfileCell, RunFigures, ScoreMeaning } from "../page/report-data.js";
import { OUTCOMES, STAGES } from "../page/report-data.js";
import { classifyTask, stageOf } from "./classify-task.js";
import { ToolUseTally } from "./tool-use.js";

const BINS = 20;
/** Distinct errors listed, the most frequent first. */
const ERRORS = 12;

type TalliedFigures = Pick<
  RunFigures,
  "tasks" | "completed" | "failed" | "latency" | "endings" | "profile" | "errors" | "distribution" | "turns" | "tools"
>;

/** The figures of a run that its totals do not have, task by task. Keeps figures only, no tasks. */
export class RunTally {
  private failed = 0;
  private completed = 0;
  private readonly tools = new ToolUseTally();
  private readonly endings: Partial<Record<Ending, number>> = {};
  private readonly profile = new Map<string, number>();
  private readonly errors = new Map<string, number>();
  private readonly bins = new Map<string, number[]>();
  private readonly turns: number[] = [];
  private readonly times: number[] = [];
  private waitingMs = 0;

  constructor(
    private readonly meanings: readonly ScoreMeaning[],
    private readonly leading: string,
  ) {}

  /** `trace` is null of a results file, which does not say which tools were called. */
  add(result: TaskResult, trace: Trace | null): void {
    this.endings[result.ending] = (this.endings[result.ending] ?? 0) + 1;
    this.turns[result.turns] = (this.turns[result.turns] ?? 0) + 1;
    if (trace !== null) this.tools.add(trace);
    increment(this.profile, `${stageOf(result)} ${classifyTask(result, this.leading)}`);
    // What a task of a suite left behind may be graded though its time ran out.
    for (const { name } of this.meanings) this.addToBin(name, result.scores[name] ?? null);
    if (isFailure(result.ending)) {
      this.failed++;
      increment(this.errors, result.error ?? result.ending);
      return;
    }
    this.times.push(modelAndToolTimeOf(result) ?? result.executionTimeMs);
    this.waitingMs += result.waitingTimeMs ?? 0;
    this.completed++;
  }

  figures(): TalliedFigures {
    return {
      tasks: this.completed + this.failed,
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
      errors: [...this.errors]
        .map(([message, tasks]) => ({ message, tasks }))
        .sort((a, b) => b.tasks - a.tasks)
        .slice(0, ERRORS),
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
