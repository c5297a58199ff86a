import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { count, share, usd } from "./format-number.js";
import { runSummary } from "./run-summary.js";
import { table } from "./text-table.js";

interface TaskLine {
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly ending: string;
  readonly score: number | null;
  readonly sourcesCorrect: boolean | null;
  readonly costUsd: number | null;
  readonly question: string;
}

/** The figures of a run, what a person says of it, and its first tasks. */
export function runDetailsText(
  run: {
    readonly name: string | null;
    readonly note: string | null;
    readonly tags: readonly string[];
    readonly dataset: string;
    readonly totals: RunTotals;
    readonly headline: string | null;
    readonly tasks: readonly TaskLine[];
  },
  listed: number,
): string {
  const { totals, tasks } = run;
  const labels: [string, string][] = [
    ["Name", run.name ?? ""],
    ["Tags", run.tags.join(", ")],
    ["Note", run.note ?? ""],
    ["Dataset", run.dataset],
  ];
  const left = tasks.length - listed;
  return [
    runSummary(totals),
    ...labels.filter(([, value]) => value !== "").map(([label, value]) => `${`${label}:`.padEnd(19)}${value}`),
    "",
    taskTable(tasks.slice(0, listed), run.headline, totals.totalTasks),
    ...(left > 0 ? ["", `${count(left)} more; --all lists them.`] : []),
    ...hint(totals.runId, tasks),
  ].join("\n");
}

function taskTable(tasks: readonly TaskLine[], headline: string | null, total: number): string {
  if (total === 0) return "No task has a result yet.";
  const repeated = tasks.some(({ epoch }) => epoch > 1);
  const rows = tasks.map((task) => [
    repeated ? `${task.taskId}/${task.epoch}` : String(task.taskId),
    task.ending,
    share(task.score),
    task.sourcesCorrect === null ? "-" : task.sourcesCorrect ? "yes" : "no",
    usd(task.costUsd),
    shortened(task.question),
  ]);
  return table(["task", "ending", headline ?? "score", "sources", "cost", "question"], rows);
}

/** The first line's beginning. */
function shortened(question: string): string {
  const [line = ""] = question.trim().split("\n");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** Names a task of the list. */
function hint(runId: string, [first]: readonly TaskLine[]): string[] {
  if (first === undefined) return [];
  const epoch = first.epoch > 1 ? `/${first.epoch}` : "";
  return ["", `A task in full: art-e show ${runId}/${first.taskId}${epoch}`];
}
