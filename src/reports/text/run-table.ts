import type { Headline } from "../../domain/runs/headline-score.js";
import type { RunStatus } from "../../domain/runs/run-status.js";
import { count, share, usd } from "./format-number.js";
import { table } from "./text-table.js";

/** A run as lists show it. */
export interface RunLine {
  readonly id: string;
  readonly name: string | null;
  readonly tags: readonly string[];
  readonly agentId: string;
  readonly model: string;
  readonly dataset: string;
  readonly split: string;
  readonly status: RunStatus;
  readonly startedAt: string;
  readonly tasks: number;
  readonly totalTasks: number;
}

/** One line a run, and below it what the score is where nobody judged. */
export function runTable(
  runs: readonly (RunLine & { readonly headline: Headline | null; readonly costUsd: number | null })[],
): string {
  if (runs.length === 0) return "No runs yet: art-e run -a AGENT makes one.";
  const rows = runs.map((run) => [
    run.name === null ? run.id : `${run.id} ${run.name}`,
    run.agentId,
    run.model,
    datasetText(run),
    statusText(run.status),
    `${count(run.tasks)}/${count(run.totalTasks)}`,
    headlineText(run.headline),
    usd(run.costUsd),
    run.startedAt.slice(0, 16).replace("T", " "),
    run.tags.join(" "),
  ]);
  const columns = ["run", "agent", "model", "dataset", "status", "tasks", "score", "cost", "started", "tags"];
  const isUnjudged = runs.some(({ headline }) => headline?.scorer === "semanticScore");
  return [table(columns, rows), ...(isUnjudged ? ["", UNJUDGED] : [])].join("\n");
}

const UNJUDGED =
  "* Nobody judged these answers: this is how far their words agree with the gold answers' (semanticScore).";

/** `0.917 [0.821, 0.964]`, with a star where nobody judged. */
export function headlineText(headline: Headline | null): string {
  if (headline === null) return "-";
  const { value, low, high, scorer } = headline;
  const interval = low === null || high === null ? "" : ` [${share(low)}, ${share(high)}]`;
  return `${share(value)}${interval}${scorer === "semanticScore" ? "*" : ""}`;
}

/** A run that was interrupted or whose process is gone has stopped, and can go on. */
export function statusText(status: RunStatus): string {
  return status === "interrupted" ? "stopped" : status;
}

/** The name of a dataset without its revision; the last part of a path. */
function datasetText({ dataset, split }: RunLine): string {
  const short = dataset.startsWith("/") ? (dataset.split("/").at(-1) ?? dataset) : dataset.replace(/@.*$/, "");
  return split === "suite" ? short : `${short} ${split}`;
}

/** What `runs delete` and `runs prune` did, or would do. */
export function deletedRunsText({
  runs,
  deleted,
}: {
  readonly runs: readonly RunLine[];
  readonly deleted: boolean;
}): string {
  if (runs.length === 0) return "No run to delete.";
  const many = runs.length === 1 ? "1 run" : `${count(runs.length)} runs`;
  const rows = runs.map((run) => [
    run.id,
    run.agentId,
    run.model,
    statusText(run.status),
    `${count(run.tasks)}/${count(run.totalTasks)}`,
    run.startedAt.slice(0, 16).replace("T", " "),
  ]);
  return [
    table(["run", "agent", "model", "status", "tasks", "started"], rows),
    "",
    deleted ? `${many} deleted, with results and traces.` : `${many} would be deleted. Give --yes to do it.`,
  ].join("\n");
}
