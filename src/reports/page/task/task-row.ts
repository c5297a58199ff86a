import { duration } from "../../text/format-number.js";
import { STAGE_SHORT, STAGE_WORDS, spaceWords } from "../display-texts.js";
import { runDot } from "../header.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { type Child, h, untrustedInline } from "../shared/dom.js";
import { costText, scoreText } from "../shared/format.js";
import type { SortKey } from "./task-filter.js";

export interface Column {
  readonly key: SortKey;
  readonly title: string;
  readonly className: string;
  cell(task: Task, score: number): readonly Child[];
}

/** The columns of the task table, for these runs. */
export function columnsOf(head: ReportHead): readonly Column[] {
  const { runs } = head;
  const [hasQuestions, hasSuites] = [
    runs.some(({ suite }) => suite === null),
    runs.some(({ suite }) => suite !== null),
  ];
  const all: readonly Column[] = [
    { key: "task", title: "Task", className: "figure id", cell: (task) => [taskLabel(task)] },
    {
      ...{ key: "run", title: "Run", className: "run" },
      cell: (task) => {
        const label = runs[task.run]?.label ?? "";
        return [h("span", { title: label }, runDot(task.run), h("span", { class: "hidden" }, label))];
      },
    },
    {
      ...{
        key: "question",
        title: hasQuestions ? "Question and answer" : "Task and why it is not solved",
        className: "question",
      },
      cell: (task) => [untrustedInline(task.question, "asked"), secondLine(task)],
    },
    {
      ...{ key: "inbox", title: "Mailbox", className: "inbox wide" },
      cell: (task) => [untrustedInline(task.inbox.split("@")[0] ?? "")],
    },
    {
      ...{ key: "tool", title: "Tool", className: "tool wide" },
      cell: ({ suite }) => [untrustedInline(suite?.tool ?? "")],
    },
    {
      ...{ key: "score", title: "Score", className: "figure score" },
      cell: (task, score) => [
        h("span", { class: `value outcome-text-${task.outcome}` }, scoreText(task.scores[score])),
      ],
    },
    {
      ...{ key: "evals", title: "Evals failed", className: "evals wide" },
      cell: ({ failedEvals }) => evalLines(failedEvals).map((line) => h("span", {}, line)),
    },
    {
      ...{ key: "stage", title: "Gold mail", className: "stage" },
      cell: (task) => [
        h("span", { class: `stage-${task.stage}`, title: STAGE_WORDS[task.stage] }, STAGE_SHORT[task.stage]),
      ],
    },
    {
      ...{ key: "state", title: "State", className: "state" },
      cell: ({ suite }) => [suite === null ? "" : spaceWords(suite.state)],
    },
    { key: "ending", title: "Ending", className: "ending wide", cell: (task) => [spaceWords(task.ending)] },
    { key: "turns", title: "Turns", className: "figure wide turns", cell: (task) => [String(task.turns)] },
    {
      ...{ key: "toolCalls", title: "Calls", className: "figure wide turns" },
      cell: ({ suite }) => [suite === null ? "" : String(suite.toolCalls ?? "–")],
    },
    { key: "ms", title: "Time", className: "figure wide time", cell: (task) => [duration(task.ms)] },
    { key: "costUsd", title: "Cost", className: "figure wide cost", cell: (task) => [costText(task.costUsd)] },
  ];
  const hidden = new Set<SortKey>([
    ...(head.evals.length > 0 ? [] : (["evals"] as const)),
    // There is room for one of them; the view of a task says how it ended.
    ...(head.evals.length > 0 && hasQuestions ? (["ending"] as const) : []),
    ...(runs.length > 1 ? [] : (["run"] as const)),
    ...(hasQuestions ? [] : (["inbox", "stage", "ending"] as const)),
    ...(hasSuites ? [] : (["tool", "state", "toolCalls"] as const)),
  ]);
  return all.filter(({ key }) => !hidden.has(key));
}

/** The beginning of a suite's long ids is enough to tell them apart. */
function taskLabel({ taskId, epoch }: Task): string {
  const id = typeof taskId === "number" ? String(taskId) : taskId.slice(0, 8);
  return epoch === 1 ? id : `${id}/${epoch}`;
}

/** Two fit into a row. */
function evalLines(names: readonly string[]): readonly string[] {
  if (names.length === 0) return ["none"];
  return names.length <= 2 ? names : [names[0] ?? "", `and ${names.length - 1} more`];
}

/** The answer to a question; of a suite's task, why it is not solved. */
function secondLine({ answer, error, suite }: Task): HTMLElement {
  const said = suite === null ? answer : suite.reason || (error ?? answer);
  if (said !== "") return untrustedInline(said, "answer");
  return h("span", { class: "answer none" }, error === null ? "no answer" : untrustedInline(error));
}
