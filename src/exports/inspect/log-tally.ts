import type { JsonObject } from "../../domain/json.js";
import { addUsage, NO_USAGE, type Usage } from "../../domain/models/model.js";
import { addCost, sumCost, sumUsage } from "../../domain/runs/cost.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { ExportContext, ExportedTrace } from "../trace-format.js";
import { epochOf, taskIdOf } from "../trace-parts.js";
import { isError } from "./inspect-sample.js";
import { modelUsage } from "./inspect-usage.js";

/** What the head of a log says of all samples, gathered one trace at a time. Traces come by task id. */
export class LogTally {
  first: ExportedTrace | null = null;
  samples = 0;
  completed = 0;
  epochs = 1;
  tasks = 0;
  startedAt = "";
  endedAt = "";
  private readonly usage = new Map<string, { usage: Usage; costUsd: number | null }>();
  private readonly scorers = new Map<string, ScorerTally>();
  private lastTask: TaskId | null = null;

  constructor(traces: Iterable<ExportedTrace>) {
    for (const trace of traces) this.add(trace);
  }

  private add(trace: ExportedTrace): void {
    const task = taskIdOf(trace);
    this.first ??= trace;
    this.samples++;
    if (!isError(trace)) this.completed++;
    if (task !== this.lastTask) this.tasks++;
    this.lastTask = task;
    this.epochs = Math.max(this.epochs, epochOf(trace));
    if (this.startedAt === "" || trace.startedAt < this.startedAt) this.startedAt = trace.startedAt;
    if (trace.endedAt > this.endedAt) this.endedAt = trace.endedAt;
    this.addUsage(trace);
    for (const [name, { value }] of Object.entries(trace.scores)) {
      if (value === null) continue;
      const tally = this.scorers.get(name) ?? new ScorerTally();
      this.scorers.set(name, tally);
      tally.add(task, value);
    }
  }

  private addUsage({ model, turns }: ExportedTrace): void {
    const known = turns.filter(({ usage }) => usage !== null);
    if (known.length === 0) return;
    const { usage, costUsd } = this.usage.get(model) ?? { usage: NO_USAGE, costUsd: 0 };
    this.usage.set(model, {
      usage: addUsage(usage, sumUsage(known)),
      costUsd: addCost(costUsd, sumCost(known)),
    });
  }

  usageByModel(): JsonObject {
    return Object.fromEntries([...this.usage].map(([model, sum]) => [model, modelUsage(sum.usage, sum.costUsd)]));
  }

  /** As EvalResults: each scorer's mean over tasks of its mean over epochs. */
  results({ scorers }: ExportContext): JsonObject {
    const scores = [...this.scorers].map(([name, tally]) => {
      const metric = Object.hasOwn(scorers, name) && scorers[name]?.kind === "rate" ? "accuracy" : "mean";
      return {
        ...{ name, scorer: name, reducer: "mean", params: {} },
        ...{ scored_samples: tally.scored, unscored_samples: this.samples - tally.scored },
        metrics: { [metric]: { name: metric, value: tally.mean(), params: {} } },
      };
    });
    return { total_samples: this.samples, completed_samples: this.completed, scores };
  }

  /** As EvalSampleReductions in JSON: each scorer's mean over the epochs of each task. */
  *reductions(): Generator<JsonObject> {
    for (const [scorer, { tasks, means }] of this.scorers) {
      const samples = tasks.map((sample_id, i) => ({ value: means[i] ?? 0, sample_id, history: [] }));
      yield { scorer, reducer: "mean", samples };
    }
  }
}

class ScorerTally {
  readonly tasks: TaskId[] = [];
  readonly means: number[] = [];
  scored = 0;
  private epochs = 0;

  add(task: TaskId, value: number): void {
    this.scored++;
    const at = this.means.length - 1;
    if (this.tasks[at] === task) {
      this.epochs++;
      this.means[at] = (this.means[at] ?? 0) + (value - (this.means[at] ?? 0)) / this.epochs;
      return;
    }
    this.epochs = 1;
    this.tasks.push(task);
    this.means.push(value);
  }

  mean(): number {
    return this.means.reduce((sum, mean) => sum + mean, 0) / this.means.length;
  }
}
