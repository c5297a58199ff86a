// The tables of scorers of questions and of suite tasks, and how they score a trace.
import { exposureOf } from "../attacks/obedience.js";
import type { Scale } from "../statistics/estimate.js";
import { type AskedFor, askedFor, questionOf, type TaskGrade } from "../tasks/question.js";
import { type ScorableQuestion, type Score, type ScoreDescription, scaleOf } from "../traces/score.js";
import type { SuiteTrace } from "../traces/trace.js";
import { isFunctionScore } from "./function-scorers.js";
import { artReward } from "./judge/art-rubric.js";
import type { SameMail, ScorerEntry, SuiteScorerEntry, UnscoredTrace } from "./scorer-entry.js";
import { abstention, falseAbstention } from "./scorers/abstention-scorers.js";
import { exactMatch, rougeL, semanticScore, tokenF1 } from "./scorers/answer-scorers.js";
import { falseAlarm, hijacked, resisted } from "./scorers/attack-scorers.js";
import { collateral, goalReached, partial } from "./scorers/goal-scorers.js";
import {
  foundAt1,
  foundAt5,
  foundAt10,
  foundGold,
  goldRank,
  readGold,
  sourcesCorrect,
  sourcesF1,
  sourcesPrecision,
  sourcesRecall,
} from "./scorers/gold-mail-scorers.js";
import { hallucination, judgeCorrect, judgeScore } from "./scorers/judge-scorers.js";
import { averagePrecision, selectionF1, selectionPrecision, selectionRecall } from "./scorers/selection-scorers.js";
import { dateMatch, numberMatch } from "./scorers/value-scorers.js";

/** The scorers for mailbox questions, by name. A new scorer needs a file in `scorers/` and a line in this table. */
export const SCORERS = {
  exactMatch,
  semanticScore,
  tokenF1,
  rougeL,
  numberMatch,
  dateMatch,
  sourcesCorrect,
  sourcesPrecision,
  sourcesRecall,
  sourcesF1,
  foundGold,
  foundAt1,
  foundAt5,
  foundAt10,
  goldRank,
  readGold,
  abstention,
  falseAbstention,
  hallucination,
  judgeCorrect,
  judgeScore,
  artReward,
  goalReached,
  partial,
  collateral,
  selectionF1,
  selectionPrecision,
  selectionRecall,
  averagePrecision,
  resisted,
  hijacked,
  falseAlarm,
} as const satisfies Record<string, ScorerEntry>;

export type ScorerName = keyof typeof SCORERS;

export const SCORER_NAMES = Object.keys(SCORERS) as ScorerName[];

/** Whether a task can have the score. Evals and functions decide themselves, with a null score. */
export function appliesTo(name: string, task: ScorableQuestion): boolean {
  if (isScorerName(name) && !isFor(SCORERS[name], task.asksFor)) return false;
  return SCORES[name]?.appliesTo?.(task) ?? true;
}

function isFor({ tasks = "answer" }: ScorerEntry, asked: AskedFor): boolean {
  return tasks === "attacked" || tasks === asked;
}

const taskScore: SuiteScorerEntry = {
  scoreGrade: (grade) => explained(grade.score, grade),
  label: "Task score",
  kind: "mean",
  better: "higher",
  meaning: "Grade of the agent's output files by the suite's evaluation functions, 0 to 1, over the graded tasks.",
  scale: { min: 0, max: 1 },
};

const taskSolved: SuiteScorerEntry = {
  scoreGrade: (grade) => explained(grade.score === null ? null : Number(grade.score === 1), grade),
  label: "Solved",
  kind: "rate",
  better: "higher",
  meaning: "The task score is 1, over the graded tasks.",
};

function explained(value: number | null, { state, reason }: TaskGrade): Score {
  if (value === 1) return { value };
  return { value, explanation: reason === "" ? state : `${state}: ${reason}` };
}

/** The scorers for suite tasks. Every suite task has all of these scores. */
export const SUITE_SCORERS = { taskScore, taskSolved } as const satisfies Record<string, SuiteScorerEntry>;

/** The reward that a training environment assigned to an episode. It belongs to the episode and is never recomputed. */
export const REWARD = "reward";

const reward: ScoreDescription = {
  label: "Reward",
  kind: "mean",
  better: "higher",
  meaning: "Reward from the training environment, over the completed episodes.",
};

/** Every possible score of a run, in display order. */
export const SCORES: Readonly<Record<string, ScoreDescription>> = { ...SCORERS, ...SUITE_SCORERS, [REWARD]: reward };

/** Scorers with a field in the results file. Every run has them. */
export const RESULT_FILE_SCORERS = [
  "exactMatch",
  "semanticScore",
  "sourcesCorrect",
  "foundGold",
  "readGold",
] as const satisfies ScorerName[];

/** Returns the lowest and highest possible value of a score. Evals have values from 0 to 1, and functions any. */
export function scaleOfScore(name: string): Required<Scale> {
  return scaleOf(SCORES[name] ?? { kind: isFunctionScore(name) ? "mean" : "rate" });
}

export function isScorerName(name: string): name is ScorerName {
  return Object.hasOwn(SCORERS, name);
}

/** Returns whether a scorer needs or can use a judge's verdict, or null for neither. */
export function judgeUse(name: ScorerName): "needed" | "used" | null {
  const { judge }: ScorerEntry = SCORERS[name];
  return judge ?? null;
}

export function scoreTrace(
  trace: UnscoredTrace | Omit<SuiteTrace, "scores">,
  sameMail: SameMail,
  names: readonly ScorerName[],
): Record<string, Score> {
  const task = questionOf(trace);
  const scores = task === null ? {} : scoreQuestion({ ...trace, kind: "question", task }, sameMail, names);
  return trace.kind === "suite" ? { ...scores, ...scoreGrade(trace.grade) } : scores;
}

function scoreGrade(grade: TaskGrade): Record<string, Score> {
  return Object.fromEntries(Object.entries(SUITE_SCORERS).map(([name, entry]) => [name, entry.scoreGrade(grade)]));
}

function scoreQuestion(trace: UnscoredTrace, sameMail: SameMail, names: readonly ScorerName[]): Record<string, Score> {
  const cachedSameMail = memoize(sameMail);
  const asksFor = askedFor(trace.task);
  const exposure = exposureOf(trace);
  const applicable = names.filter((name) => {
    const entry: ScorerEntry = SCORERS[name];
    if (entry.tasks === "attacked") return entry.appliesTo?.({ goldAnswer: "", goldMails: 0, asksFor, exposure });
    return isFor(entry, asksFor);
  });
  return Object.fromEntries(applicable.map((name) => [name, SCORERS[name].score(trace, cachedSameMail)]));
}

/** Several scorers look up the same few emails, and each lookup is a database query. */
function memoize(sameMail: SameMail): SameMail {
  const cache = new Map<string, string>();
  return (id) => {
    let name = cache.get(id);
    if (name === undefined) {
      name = sameMail(id);
      cache.set(id, name);
    }
    return name;
  };
}
