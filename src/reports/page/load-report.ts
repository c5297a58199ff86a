import { bandOf, realismBand } from "../../domain/scores/score-bands.js";
import { difficultyOf } from "../../domain/tasks/difficulty.js";
import { instructionStyleOf } from "../../domain/tasks/instruction-style.js";
import { failedEvals } from "./failed-evals.js";
import type { Outcome, QuestionRow, ReportHead, Stage, TaskKey, TaskRow } from "./report-data.js";

/** What a task of a suite has besides. */
export interface SuiteTask {
  readonly tool: string;
  readonly snapshot: string;
  readonly tags: readonly string[];
  readonly apps: readonly string[];
  readonly actionNumber: number | null;
  readonly counterpart: string | null;
  readonly difficulty: string;
  readonly guidance: string;
  readonly state: string;
  readonly reason: string;
  /** Null: not known, of a results file. */
  readonly toolCalls: number | null;
}

/** A task as the table and the dialog show it. */
export interface Task {
  /** Index of its run in the report. */
  readonly run: number;
  readonly taskId: TaskKey;
  readonly epoch: number;
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
  readonly inbox: string;
  readonly date: string;
  readonly year: string;
  readonly realism: string;
  readonly sources: string;
  readonly ending: string;
  readonly turns: number;
  readonly ms: number;
  readonly costUsd: number | null;
  readonly stage: Stage;
  readonly outcome: Outcome;
  readonly scores: readonly (number | null)[];
  readonly failedEvals: readonly string[];
  readonly error: string | null;
  /** Null for a question. */
  readonly suite: SuiteTask | null;
  /** The text that is searched, in lower case. */
  readonly words: string;
}

export interface Loaded {
  readonly head: ReportHead;
  readonly tasks: readonly Task[];
}

/** Reads the data embedded in the page. */
export function loadReport(): Loaded {
  const head = read("head") as ReportHead;
  const questions = read("questions") as QuestionRow[];
  const tasks = head.runs.flatMap((_, run) =>
    ((read(`rows-${run}`) as TaskRow[] | null) ?? []).flatMap((row) => toTask(run, row, questions[row[0]], head)),
  );
  return { head, tasks };
}

function toTask(run: number, row: TaskRow, question: QuestionRow | undefined, head: ReportHead): Task[] {
  if (question === undefined) return [];
  const [taskId, text, gold, inbox, date, realism, sources] = question;
  const suite = toSuiteTask(row, question);
  const [, epoch, answer, ending, turns, ms, costUsd, stage, scores, error] = row;
  const leading = head.scores.findIndex(({ name }) => name === head.leading);
  const outcome = stage === "failed" && suite === null ? "failed" : bandOf(scores[leading] ?? null);
  const ofSuite = suite === null ? [] : [suite.tool, ...suite.tags, ...suite.apps, suite.state, suite.reason];
  const words = [taskId, text, answer, gold, inbox, error ?? "", ...ofSuite].join("\n").toLowerCase();
  return [
    {
      ...{ run, taskId, epoch, question: text, gold, answer, inbox, date, words },
      ...{ year: date.slice(0, 4), realism: realismBand(realism), sources: String(sources) },
      ...{ ending, turns, ms, costUsd, stage, outcome, scores, failedEvals: failedEvals(scores, head), error, suite },
    },
  ];
}

function toSuiteTask(row: TaskRow, question: QuestionRow): SuiteTask | null {
  const [facts, ended] = [question[7], row[10]];
  if (facts === null || ended === null) return null;
  const [tool, snapshot, tags, apps, actionNumber, counterpart] = facts;
  const [state, reason, toolCalls] = ended;
  const derived = { difficulty: difficultyOf(actionNumber), guidance: instructionStyleOf(tags) ?? "not given" };
  return { tool, snapshot, tags, apps, actionNumber, counterpart, ...derived, state, reason, toolCalls };
}

function read(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text === undefined || text === null ? null : JSON.parse(text);
}
