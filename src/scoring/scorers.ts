import type { QuestionTrace, SuiteTrace } from "../domain/runs/trace.js";
import type { SameMail, Score, ScoreDescription, ScorerEntry, SuiteScorerEntry } from "../domain/scores/score.js";
import { questionOf, type TaskGrade } from "../domain/tasks/task.js";
import { abstention } from "./abstention.js";
import { artReward } from "./art-rubric.js";
import { exactMatch } from "./exact-match.js";
import { foundGold, hasGoldMail, readGold, sourcesCorrect } from "./gold-mail.js";
import { hallucination } from "./hallucination.js";
import { judgeCorrect, judgeScore } from "./judge/judge-scores.js";
import { foundAt1, foundAt5, foundAt10, goldRank } from "./retrieval-rank.js";
import { rougeL } from "./rouge-l.js";
import { semanticScore } from "./semantic-score.js";
import { sourcesF1, sourcesPrecision, sourcesRecall } from "./source-quality.js";
import { taskScore, taskSolved } from "./task-score.js";
import { tokenF1 } from "./token-f1.js";
import { dateMatch, numberMatch } from "./value-match.js";

/** The scorers of questions about mailboxes, by name. To add one: a file in this folder and a line here. */
export const SCORERS = {
  exactMatch: {
    score: exactMatch,
    label: "Exact match",
    kind: "rate",
    better: "higher",
    meaning: "The answer equals the gold answer, ignoring case and white space.",
  },
  semanticScore: {
    score: semanticScore,
    label: "Semantic score",
    kind: "mean",
    better: "higher",
    meaning: "Jaccard similarity of the word sets of answer and gold answer, 0 to 1.",
    scale: { min: 0, max: 1 },
  },
  tokenF1,
  rougeL,
  numberMatch,
  dateMatch,
  sourcesCorrect: {
    score: sourcesCorrect,
    label: "Sources correct",
    kind: "rate",
    better: "higher",
    meaning: "The answer's sources name a gold mail.",
    appliesTo: hasGoldMail,
  },
  sourcesPrecision,
  sourcesRecall,
  sourcesF1,
  foundGold: {
    score: foundGold,
    label: "Gold mail found",
    kind: "rate",
    better: "higher",
    meaning: "A search listed a gold mail.",
    appliesTo: hasGoldMail,
  },
  foundAt1,
  foundAt5,
  foundAt10,
  goldRank,
  readGold: {
    score: readGold,
    label: "Gold mail read",
    kind: "rate",
    better: "higher",
    meaning: "The agent opened a gold mail.",
    appliesTo: hasGoldMail,
  },
  abstention,
  hallucination,
  judgeCorrect,
  judgeScore,
  artReward,
} as const satisfies Record<string, ScorerEntry>;

export type ScorerName = keyof typeof SCORERS;

export const SCORER_NAMES = Object.keys(SCORERS) as ScorerName[];

/** The same for tasks of suites, all of which have all of them. */
export const SUITE_SCORERS = { taskScore, taskSolved } as const satisfies Record<string, SuiteScorerEntry>;

/** Every score that a run can have, in the order in which they are shown. */
export const SCORES: Readonly<Record<string, ScoreDescription>> = { ...SCORERS, ...SUITE_SCORERS };

/** These have fields of their own in the results file, so every run has them. */
export const RESULT_FILE_SCORERS = [
  "exactMatch",
  "semanticScore",
  "sourcesCorrect",
  "foundGold",
  "readGold",
] as const satisfies ScorerName[];

export function isScorerName(name: string): name is ScorerName {
  return Object.hasOwn(SCORERS, name);
}

/** Whether a scorer needs or can use a judge's verdict; null: neither. */
export function judgeUse(name: ScorerName): "needed" | "used" | null {
  const { judge }: ScorerEntry = SCORERS[name];
  return judge ?? null;
}

type UnscoredTrace = Omit<QuestionTrace, "scores"> | Omit<SuiteTrace, "scores">;

export function scoreTrace(
  trace: UnscoredTrace,
  sameMail: SameMail,
  names: readonly ScorerName[],
): Record<string, Score> {
  const task = questionOf(trace.task);
  const scores = task === null ? {} : scoreQuestion({ ...trace, task }, sameMail, names);
  return "grade" in trace ? { ...scores, ...scoreGrade(trace.grade) } : scores;
}

function scoreGrade(grade: TaskGrade): Record<string, Score> {
  return Object.fromEntries(Object.entries(SUITE_SCORERS).map(([name, entry]) => [name, entry.scoreGrade(grade)]));
}

function scoreQuestion(
  trace: Omit<QuestionTrace, "scores">,
  sameMail: SameMail,
  names: readonly ScorerName[],
): Record<string, Score> {
  const cachedSameMail = memoize(sameMail);
  return Object.fromEntries(names.map((name) => [name, SCORERS[name].score(trace, cachedSameMail)]));
}

/** Several scorers look up the same few mails, each time in the database. */
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
