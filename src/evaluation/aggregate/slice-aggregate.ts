import type { RunTotals, Slice, TaskResult } from "../../domain/runs/benchmark-result.js";
import { SLICES, type SliceName } from "../../domain/runs/slice.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { ScorerEntry } from "../../domain/scores/score.js";
import { realismBand } from "../../domain/scores/score-bands.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import { estimateOf } from "./score-aggregate.js";

/** By slice, the part that a question belongs to; null: none, as of a task of a suite. */
const PART_OF: Readonly<Record<SliceName, (task: TaskResult) => string | null>> = {
  inbox: ({ inbox }) => inbox,
  realism: ({ howRealistic }) => (howRealistic === null ? null : realismBand(howRealistic)),
  sources: ({ goldSources }) => String(goldSources),
  year: ({ queryDate }) => queryDate?.slice(0, 4) ?? null,
};

interface Part {
  tasks: number;
  readonly byScorer: Map<string, ClusteredMean>;
}

/** Aggregates the scores of a run by slice, question by question. */
export class SliceAggregate {
  private readonly parts: Readonly<Record<SliceName, Map<string, Part>>> = {
    inbox: new Map(),
    realism: new Map(),
    sources: new Map(),
    year: new Map(),
  };

  /** Adds a question: its number of tasks, and by scorer the values of the completed ones. */
  add(question: TaskResult, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    for (const slice of SLICES) {
      const value = question.suite === undefined ? PART_OF[slice](question) : null;
      if (value === null) continue;
      const part = this.parts[slice].get(value) ?? { tasks: 0, byScorer: new Map<string, ClusteredMean>() };
      this.parts[slice].set(value, part);
      part.tasks += tasks;
      for (const [name, values] of scored) {
        const sums = part.byScorer.get(name) ?? new ClusteredMean();
        part.byScorer.set(name, sums);
        const squares = values.reduce((sum, score) => sum + score * score, 0);
        sums.add(
          values.length,
          values.reduce((sum, score) => sum + score, 0),
          squares,
        );
      }
    }
  }

  /** Estimates for the scores of the whole run, each of the same kind as there. */
  figures(scores: Readonly<Record<string, Pick<ScorerEntry, "kind" | "scale">>>): RunTotals["slices"] {
    const of = (slice: SliceName): Slice[] =>
      [...this.parts[slice]]
        .toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
        .map(([value, { tasks, byScorer }]) => {
          const estimates: Record<string, Estimate> = {};
          for (const [name, entry] of Object.entries(scores)) {
            estimates[name] = estimateOf(entry, byScorer.get(name) ?? new ClusteredMean());
          }
          return { value, tasks, scores: estimates };
        });
    return { inbox: of("inbox"), realism: of("realism"), sources: of("sources"), year: of("year") };
  }
}
