import type { RunTotals, ScoreFigures, TaskResult } from "../../domain/runs/benchmark-result.js";
import type { ScoreDescription } from "../../domain/scores/score.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import { ScoreAggregate } from "./score-aggregate.js";
import { SliceAggregate } from "./slice-aggregate.js";

/**
 * Every score of a run with its interval, and the same by slices. Repeats of a question are not independent: add them
 * one after the other, as they count as one cluster. Memory does not grow with the number of tasks.
 */
export class AllScores {
  private question: TaskResult[] = [];
  private asked = 0;
  private readonly byScorer = new Map<string, ScoreAggregate>();
  private readonly slices = new SliceAggregate();
  /** By known score, the failed tasks of questions without a value: wrong for every scorer that applies to them. */
  private readonly onlyFailed: ReadonlyMap<string, ClusteredMean>;
  /** The same for scorers that this version does not know. */
  private readonly failedQuestions = new ClusteredMean();

  /** `known`: the scores of this version, in the order in which they are shown. */
  constructor(private readonly known: Readonly<Record<string, ScoreDescription>>) {
    this.onlyFailed = new Map(Object.keys(known).map((name) => [name, new ClusteredMean()]));
  }

  add(result: TaskResult): void {
    if (this.question[0]?.taskId !== result.taskId) this.endQuestion();
    this.question.push(result);
  }

  figures(): Pick<RunTotals, "scores" | "slices"> {
    this.endQuestion();
    const names = [...new Set([...Object.keys(this.known), ...this.byScorer.keys()])];
    const entries: Record<string, ScoreDescription> = {};
    const scores: Record<string, ScoreFigures> = {};
    for (const name of names) {
      const sums = this.byScorer.get(name);
      if (sums === undefined) continue;
      const entry = this.known[name] ?? unknownScorer(name, sums);
      entries[name] = entry;
      scores[name] = sums.figures(entry, this.onlyFailed.get(name) ?? this.failedQuestions, this.asked > 1);
    }
    return { scores, slices: this.slices.figures(entries) };
  }

  private endQuestion(): void {
    const [first] = this.question;
    if (first === undefined) return;
    // What a task of a suite left behind may be graded though its time ran out; without a grade it is never 0.
    const isOfSuite = first.suite !== undefined;
    const completed = isOfSuite ? this.question : this.question.filter(({ ending }) => !isFailure(ending));
    const failed = this.question.length - completed.length;
    this.asked = Math.max(this.asked, this.question.length);
    const scored = scoresOf(completed);
    if (failed > 0) this.addFailed(first, failed, scored);
    for (const [name, values] of scored) {
      let sums = this.byScorer.get(name);
      if (sums === undefined) {
        sums = new ScoreAggregate();
        this.byScorer.set(name, sums);
      }
      sums.add(values, failed, first.inbox);
    }
    this.slices.add(first, this.question.length, scored);
    this.question = [];
  }

  private addFailed(question: TaskResult, failed: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const { groundTruth: goldAnswer, goldSources: goldMails } = question;
    for (const [name, sums] of this.onlyFailed) {
      // Failed repeats of a scored question are counted in the question's own cluster.
      if ((scored.get(name) ?? []).length > 0) continue;
      if (this.known[name]?.appliesTo?.({ goldAnswer, goldMails }) ?? true) sums.add(failed, 0, 0);
    }
    if (scored.size === 0) this.failedQuestions.add(failed, 0, 0);
  }
}

/** By scorer, the values of a question's completed tasks. */
function scoresOf(completed: readonly TaskResult[]): Map<string, number[]> {
  const scored = new Map<string, number[]>();
  for (const { scores } of completed) {
    for (const [name, value] of Object.entries(scores)) {
      const values = scored.get(name) ?? [];
      if (value !== null) values.push(value);
      scored.set(name, values);
    }
  }
  return scored;
}

/** A scorer of another version: its kind is guessed from its values. */
function unknownScorer(name: string, sums: ScoreAggregate): ScoreDescription {
  const kind = sums.isBinary ? "rate" : "mean";
  return { label: name, kind, better: "higher", meaning: "" };
}
