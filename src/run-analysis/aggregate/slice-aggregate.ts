import type { RunTotals, Slice, TaskResult } from "../../domain/runs/benchmark-result.js";
import { QUESTION_SLICES, SLICES, type SliceName, SUITE_SLICES } from "../../domain/runs/slice.js";
import { type Estimate, NO_ESTIMATE } from "../../domain/scores/interval-estimate.js";
import type { ScoreDescription } from "../../domain/scores/score.js";
import { realismBand } from "../../domain/scores/score-bands.js";
import { DIFFICULTIES, difficultyOf } from "../../domain/tasks/difficulty.js";
import { instructionStyleOf } from "../../domain/tasks/instruction-style.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import { estimateOf } from "./score-aggregate.js";

type SuiteFacts = NonNullable<TaskResult["suite"]>;

/** By slice, the part that a question belongs to. */
const QUESTION_PART: Readonly<Record<(typeof QUESTION_SLICES)[number], (task: TaskResult) => string | null>> = {
  inbox: ({ inbox }) => inbox,
  realism: ({ howRealistic }) => (howRealistic === null ? null : realismBand(howRealistic)),
  sources: ({ goldSources }) => String(goldSources),
  year: ({ queryDate }) => queryDate?.slice(0, 4) ?? null,
};

/** By slice, the parts that a task of a suite belongs to: several tags, and one or more applications. */
const SUITE_PARTS: Readonly<Record<(typeof SUITE_SLICES)[number], (task: SuiteFacts) => readonly string[]>> = {
  tool: ({ tool }) => [tool],
  difficulty: ({ actionNumber }) => [difficultyOf(actionNumber)],
  guidance: ({ tags }) => [instructionStyleOf(tags) ?? "not given"],
  app: ({ relatedApps }) => [...new Set(relatedApps)],
  tag: ({ tags }) => [...new Set(tags)],
};

interface Part {
  tasks: number;
  readonly byScorer: Map<string, ClusteredMean>;
}

type DescribedScores = Readonly<Record<string, Pick<ScoreDescription, "kind" | "scale">>>;

/** Aggregates the scores of a run by slice, question by question. */
export class SliceAggregate {
  private readonly parts = new Map<SliceName, Map<string, Part>>(SLICES.map((slice) => [slice, new Map()]));
  private hasSuite = false;

  /** Adds a question: its number of tasks, and by scorer the values of the completed ones. */
  add(question: TaskResult, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const { suite } = question;
    if (suite !== undefined) {
      this.hasSuite = true;
      for (const slice of SUITE_SLICES) {
        for (const value of SUITE_PARTS[slice](suite)) this.addTo(slice, value, tasks, scored);
      }
      return;
    }
    for (const slice of QUESTION_SLICES) {
      const value = QUESTION_PART[slice](question);
      if (value !== null) this.addTo(slice, value, tasks, scored);
    }
  }

  private addTo(slice: SliceName, value: string, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const parts = this.parts.get(slice);
    const part = parts?.get(value) ?? { tasks: 0, byScorer: new Map<string, ClusteredMean>() };
    parts?.set(value, part);
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

  /** Estimates for the scores of the whole run, each of the same kind as there. */
  figures(scores: DescribedScores): RunTotals["slices"] {
    const of = (slice: SliceName) => this.slicesOf(slice, scores);
    const questions = { inbox: of("inbox"), realism: of("realism"), sources: of("sources"), year: of("year") };
    if (!this.hasSuite) return questions;
    const suites = { tool: of("tool"), difficulty: of("difficulty"), guidance: of("guidance") };
    return { ...questions, ...suites, app: of("app"), tag: of("tag") };
  }

  private slicesOf(slice: SliceName, scores: DescribedScores): Slice[] {
    return [...(this.parts.get(slice) ?? [])].toSorted(byPart(slice)).map(([value, { tasks, byScorer }]) => {
      const estimates: Record<string, Estimate> = {};
      for (const [name, entry] of Object.entries(scores)) {
        const sums = byScorer.get(name);
        estimates[name] = sums === undefined ? NO_ESTIMATE : estimateOf(entry, sums);
      }
      return { value, tasks, scores: estimates };
    });
  }
}

/** Difficulties from easy to hard, everything else by its name. */
function byPart(slice: SliceName): (a: readonly [string, Part], b: readonly [string, Part]) => number {
  if (slice !== "difficulty") return ([a], [b]) => a.localeCompare(b, "en", { numeric: true });
  const order: readonly string[] = DIFFICULTIES;
  const rank = (value: string) => order.indexOf(value);
  return ([a], [b]) => rank(a) - rank(b);
}
