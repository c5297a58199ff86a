import { duration } from "../../text/format-number.js";
import { runDot } from "../header.js";
import { STAGE_SHORT, STAGE_WORDS, spaceWords } from "../labels.js";
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
export function columnsOf({ runs }: ReportHead): readonly Column[] {
  const epochs = (task: Task) => (task.epoch === 1 ? String(task.taskId) : `${task.taskId}/${task.epoch}`);
  const all: readonly Column[] = [
    { key: "task", title: "Task", className: "figure id", cell: (task) => [epochs(task)] },
    {
      ...{ key: "run", title: "Run", className: "run" },
      cell: (task) => {
        const label = runs[task.run]?.label ?? "";
        return [h("span", { title: label }, runDot(task.run), h("span", { class: "hidden" }, label))];
      },
    },
    {
      ...{ key: "question", title: "Question and answer", className: "question" },
      cell: (task) => [
        untrustedInline(task.question, "asked"),
        task.answer === ""
          ? h("span", { class: "answer none" }, task.error === null ? "no answer" : untrustedInline(task.error))
          : untrustedInline(task.answer, "answer"),
      ],
    },
    {
      ...{ key: "inbox", title: "Mailbox", className: "inbox wide" },
      cell: (task) => [untrustedInline(task.inbox.split("@")[0] ?? "")],
    },
    {
      ...{ key: "score", title: "Score", className: "figure score" },
      cell: (task, score) => [
        h("span", { class: `value outcome-text-${task.outcome}` }, scoreText(task.scores[score])),
      ],
    },
    {
      ...{ key: "stage", title: "Gold mail", className: "stage" },
      cell: (task) => [
        h("span", { class: `stage-${task.stage}`, title: STAGE_WORDS[task.stage] }, STAGE_SHORT[task.stage]),
      ],
    },
    { key: "ending", title: "Ending", className: "ending wide", cell: (task) => [spaceWords(task.ending)] },
    { key: "turns", title: "Turns", className: "figure wide turns", cell: (task) => [String(task.turns)] },
    { key: "ms", title: "Time", className: "figure wide time", cell: (task) => [duration(task.ms)] },
    { key: "costUsd", title: "Cost", className: "figure wide cost", cell: (task) => [costText(task.costUsd)] },
  ];
  return all.filter(({ key }) => key !== "run" || runs.length > 1);
}
