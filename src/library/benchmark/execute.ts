import type { AppContext } from "../../platform/app-context.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { runBenchmark } from "../../runs/execute-run.js";
import { collectResults } from "../../runs/results-file.js";
import type { RunRequest } from "../../runs/run-options.js";
import type { SessionEnd } from "../../runs/run-tasks.js";
import { withStore } from "../../store/open-store.js";
import type { Emit } from "../../traces/progress.js";
import type { BenchmarkOptions } from "../benchmark-config.js";
import type { BenchmarkResult, TaskResult } from "../published-types.js";
import { invalid } from "./parse-config.js";

/** Executes the run and returns its results. Throws a UserError if it stopped before its last task. */
export async function execute(
  request: RunRequest,
  { onProgress }: BenchmarkOptions,
  context: AppContext,
): Promise<BenchmarkResult> {
  const monitor = () => ({ emit: progressOf(onProgress), underWay: () => 0, stop() {} });
  const { end } = await runBenchmark(request, context, monitor, async () => {
    throw invalid("queue", "a program cannot run over a queue");
  });
  throwIfStopped(end, context);
  return withStore(context.settings, (db) => collectResults(db, end.totals)) as Promise<BenchmarkResult>;
}

function progressOf(onProgress: BenchmarkOptions["onProgress"]): Emit {
  let [runId, totalTasks, finishedTasks] = ["", 0, 0];
  return (event) => {
    if (event.type === "run_started") [runId, totalTasks] = [event.runId, event.tasks];
    if (event.type === "task_kept") finishedTasks++;
    if (event.type !== "task_finished") return;
    finishedTasks++;
    onProgress?.({ runId, finishedTasks, totalTasks, result: event.result as TaskResult });
  };
}

function throwIfStopped({ totals, stopped, requestedTasks }: SessionEnd, { signal }: AppContext): void {
  if (stopped === null || stopped.by === "evidence") return;
  const { runId, totalTasks } = totals;
  const why = stopped.by === "user" ? "the signal aborted" : stopped.why.replace(/\.$/, "");
  throw new UserError(
    "run_stopped",
    `Run ${runId} stopped: ${why}.`,
    `${totalTasks} of ${requestedTasks} tasks are saved. Continue: resumeArtEBenchmark("${runId}").`,
    stopped.by === "user" ? EXIT.interrupted : EXIT.failed,
    { cause: signal.reason },
  );
}
