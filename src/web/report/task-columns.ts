// The columns of the task table: which of them the runs need, what a cell shows, and the value to sort by.
import { type ReportHead, STAGES } from "../../reports/report-data.js";
import { duration } from "../../text/format.js";
import { type Child, costText, h, scoreText, untrustedInline } from "../dom.js";
import { runDot, STAGE_WORDS, spaceWords, stateWords } from "./header.js";
import type { Task } from "./load.js";

export interface Column {
  readonly key: string;
  readonly title: string;
  readonly className: string;
  /** False if the column does not apply to the runs. */
  readonly isShown?: boolean;
  /** Returns the value to sort by, or null if it is missing. */
  sort(task: Task, score: number): string | number | null;
  /** Returns the content of a cell, by default the value to sort by. */
  cell?(task: Task, score: number): Child;
}

/** Returns the columns of the task table for these runs. */
export function columnsOf({ runs, evals }: ReportHead): readonly Column[] {
  const hasQuestions = runs.some(({ suite }) => suite === null);
  const hasSuites = runs.some(({ suite }) => suite !== null);
  const hasEvals = evals.length > 0;
  const all: readonly Column[] = [
    { key: "task", title: "Task", className: "figure id", sort: ({ taskId }) => taskId, cell: taskLabel },
    {
      key: "run",
      title: "Run",
      className: "run",
      isShown: runs.length > 1,
      sort: ({ run }) => run,
      cell({ run }) {
        const label = runs[run]?.label ?? "";
        return h("span", { title: label }, runDot(run), h("span.hidden", label));
      },
    },
    {
      key: "question",
      title: hasQuestions ? "Question and answer" : "Task and reason for its score",
      className: "question",
      sort: ({ question }) => question.toLowerCase(),
      cell: (task) => [untrustedInline(task.question, "asked"), secondLine(task)],
    },
    {
      key: "inbox",
      title: "Mailbox",
      className: "inbox wide",
      isShown: hasQuestions,
      sort: ({ inbox }) => inbox,
      cell: ({ inbox }) => untrustedInline(inbox.split("@")[0] ?? ""),
    },
    {
      key: "tool",
      title: "Tool",
      className: "tool wide",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.tool ?? null,
      cell: ({ suite }) => untrustedInline(suite?.tool ?? ""),
    },
    {
      key: "score",
      title: "Score",
      className: "figure score",
      sort: ({ scores }, score) => scores[score] ?? null,
      cell: ({ outcome, scores }, score) =>
        h("span", { class: `value outcome-text-${outcome}` }, scoreText(scores[score])),
    },
    {
      key: "evals",
      title: "Evals failed",
      className: "evals wide",
      isShown: hasEvals,
      sort: ({ failedEvals }) => failedEvals.length,
      cell: ({ failedEvals }) => evalLines(failedEvals).map((line) => h("span", line)),
    },
    {
      key: "stage",
      title: "Gold email",
      className: "stage",
      isShown: hasQuestions,
      sort: ({ stage }) => STAGES.indexOf(stage),
      cell: ({ stage }) =>
        h("span", { class: `stage-${stage}`, title: STAGE_WORDS[stage] }, stage === "failed" ? "–" : stage),
    },
    {
      key: "state",
      title: "State",
      className: "state",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.state ?? null,
      cell: ({ suite }) => suite !== null && stateWords(suite.state),
    },
    {
      // The column does not fit next to the evals. The view of a task shows its ending.
      key: "ending",
      title: "Ending",
      className: "ending wide",
      isShown: hasQuestions && !hasEvals,
      sort: ({ ending }) => ending,
      cell: ({ ending }) => spaceWords(ending),
    },
    { key: "turns", title: "Turns", className: "figure wide turns", sort: ({ turns }) => turns },
    {
      key: "toolCalls",
      title: "Calls",
      className: "figure wide turns",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.toolCalls ?? null,
      cell: ({ suite }) => suite !== null && String(suite.toolCalls ?? "–"),
    },
    {
      key: "ms",
      title: "Time",
      className: "figure wide time",
      sort: ({ ms }) => ms,
      cell: ({ ms }) => duration(ms),
    },
    {
      key: "costUsd",
      title: "Cost",
      className: "figure wide cost",
      sort: ({ costUsd }) => costUsd,
      cell: ({ costUsd }) => costText(costUsd),
    },
  ];
  return all.filter(({ isShown = true }) => isShown);
}

/** The start of a suite's long ids is enough to distinguish them. */
function taskLabel({ taskId, epoch }: Task): string {
  const id = typeof taskId === "number" ? String(taskId) : taskId.slice(0, 8);
  return epoch === 1 ? id : `${id}/${epoch}`;
}

/** Two names fit into a row. */
function evalLines(names: readonly string[]): readonly string[] {
  if (names.length === 0) return ["none"];
  return names.length <= 2 ? names : [names[0] ?? "", `and ${names.length - 1} more`];
}

/** Returns the answer to a question, or the reason why a suite task is not solved. */
function secondLine({ answer, error, suite }: Task): HTMLElement {
  const said = suite === null ? answer : suite.reason || (error ?? answer);
  if (said !== "") return untrustedInline(said, "meta answer");
  return h("span.meta.answer.none", error === null ? "no answer" : untrustedInline(error));
}
