// Prints a run: its progress, totals, gates, and the estimate of a dry run.
import { RunAggregate } from "../../analysis/aggregate.js";
import type { Gate } from "../../analysis/gate.js";
import type { ExpectedStop, UntilOutcome } from "../../analysis/sequential-comparison.js";
import type { RateLimiterState } from "../../models/rate-limiter.js";
import { commandLine } from "../../platform/command-line.js";
import { compact } from "../../platform/optional-values.js";
import { holdOf, waitText } from "../../reports/hold-text.js";
import { gateText, runSummary, untilLines } from "../../reports/run-text.js";
import type { WorkersState } from "../../runs/answer-task.js";
import type { RunEstimate } from "../../runs/execute-run.js";
import type { RunTracker } from "../../runs/run-tracker.js";
import { count, counted, duration, share, summaryBox, usd } from "../../text/format.js";
import { type HeadlineScorer, headlineScorer } from "../../traces/headline-score.js";
import type { Emit } from "../../traces/progress.js";
import type { BenchmarkResult, RunTotals } from "../../traces/run-totals.js";
import type { TaskResult } from "../../traces/task-result.js";
import type { CommandContext } from "../command.js";
import type { ConfiguredFlags } from "../config/merge-config.js";
import { openProgress, type Progress, type ProgressDetail } from "../progress.js";
import type { Settings } from "../settings.js";

interface TerminalProgress {
  readonly emit: Emit;
  stop(): void;
}

interface WrittenFiles {
  readonly output?: string | undefined;
  readonly record?: string | undefined;
  readonly junit?: string | undefined;
}

interface RunChecks {
  readonly gates: readonly Gate[];
  readonly until: UntilOutcome | null;
}

/**
 * Shows a run's progress: score so far, completed tasks, cost and time left, followed by failures, the reason why
 * requests are waiting, and tokens.
 */
export function terminalProgress(settings: Settings, tracker: RunTracker): TerminalProgress {
  const { activity } = tracker;
  const tally = new RunAggregate();
  const headline = new RunningHeadline();
  let total = 0;
  let bar: Progress | null = null;
  const { workers = null } = activity;
  const detail = (): ProgressDetail => {
    const { done, failed, usage, costUsd, retries } = tally.progress;
    const tokens = usage.inputTokens + usage.outputTokens;
    const state = tracker.state();
    const now = Date.now();
    const held = holdOf(state, now)?.text ?? null;
    const retried = retries === null ? null : retries + state.retriesUnderWay;
    return {
      held,
      main: [headline.text(), `${count(done)}/${count(total)}`, tokens > 0 ? usd(costUsd) : ""]
        .filter((part) => part !== "")
        .join("  "),
      more: [
        failed > 0 ? `${count(failed)} failed` : "",
        held === null ? (waitText(state, now) ?? "") : "",
        workers === null ? "" : workersText(workers()),
        activity.throttle === null ? "" : flow(activity.throttle.state()),
        (retried ?? 0) > 0 ? `${count(retried)} retried` : "",
        tokens > 0 ? `${count(tokens)} tokens` : "",
      ],
    };
  };
  const refresh = () => bar?.update(tally.progress.done, detail());
  // The time until the next try changes without events.
  const timer = setInterval(refresh, REFRESH_MS).unref();
  return {
    emit(event) {
      if (event.type === "run_started") {
        total = event.tasks;
        bar = openProgress(settings, "Answering", total);
      }
      const isRetry = event.type === "task_activity" && event.activity.type === "retry";
      if (isRetry || event.type === "run_steered") refresh();
      if (event.type === "tasks_requeued") {
        // The bar counts attempts.
        total += event.tasks;
        bar?.stop();
        bar = openProgress(settings, "Answering", total);
      }
      if (event.type !== "task_finished" && event.type !== "task_kept") return;
      tally.add(event.result);
      headline.add(event.result);
      refresh();
    },
    stop() {
      clearInterval(timer);
      bar?.stop();
    },
  };
}

/** Milliseconds between updates without an event. */
const REFRESH_MS = 1_000;

function flow({ running, waiting, why }: RateLimiterState): string {
  return `${running} running${waiting === 0 ? "" : `, ${waiting} waiting for ${WAITING_FOR[why ?? "concurrency"]}`}`;
}

/** Returns a text such as `2 workers (a 12/s, b 9/s), 64 tasks running, waiting for the rate`. */
function workersText({ workers, active, waitingFor }: WorkersState): string {
  if (workers.length === 0) return "no worker";
  const rates = workers.map(({ name, perSecond }) => `${name} ${perSecond.toFixed(1)}/s`).join(", ");
  const who =
    workers.length > MOST_NAMED ? counted(workers.length, "worker") : `${counted(workers.length, "worker")} (${rates})`;
  return `${who}, ${counted(active, "task")} running${waitingFor === null ? "" : `, waiting for ${WAITING_FOR[waitingFor]}`}`;
}

/** Maximum number of workers listed by name. If there are more, only their number is shown. */
const MOST_NAMED = 4;

const WAITING_FOR = { concurrency: "a slot", rate: "the rate", tokens: "tokens", server: "the server" } as const;

/**
 * Prints a run's totals, its gates, the claim of `--until`, and the files it wrote. As JSON, they follow the content of
 * the results file.
 */
export async function printTotals(
  totals: RunTotals,
  { gates, until }: RunChecks,
  files: WrittenFiles,
  { settings, out }: CommandContext,
): Promise<void> {
  const results = settings.json ? await resultsFile(totals, settings) : undefined;
  const judged = gates.length === 0 ? {} : { gates };
  const claim = until === null ? {} : { until };
  const json = results && { ...results, ...judged, ...claim, output: files.output ?? null, db: settings.db };
  out.result(json, () => {
    const lines = compact([
      ...gates.map((gate) => `Gate:     ${gateText(gate)}`),
      ...(until === null ? [] : untilLines(until)).map((line, i) => `${i === 0 ? "Until:    " : "          "}${line}`),
      files.output !== undefined && `Results:  ${files.output}`,
      files.junit !== undefined && `JUnit:    ${files.junit}`,
      files.record !== undefined && `Replies:  ${files.record}`,
      `Traces:   ${commandLine`art-e show ${totals.runId}/TASK`}, ${commandLine`art-e export-traces --run ${totals.runId} -o traces.jsonl`}`,
      `Evals:    ${commandLine`art-e evals code ${totals.runId}`}`,
    ]);
    return [runSummary(totals), ...lines].join("\n");
  });
}

/** Imports lazily, because `--help` needs no database. */
async function resultsFile(totals: RunTotals, settings: Settings): Promise<BenchmarkResult> {
  const { withStore } = await import("../../store/open-store.js");
  const { collectResults } = await import("../../results/results-file.js");
  return withStore(settings, (db) => collectResults(db, totals));
}

/** Prints the estimate of `--dry-run`, and the settings from a config file. */
export function printEstimate(
  estimate: RunEstimate,
  { path, used }: Pick<ConfiguredFlags, "path" | "used">,
  { out }: CommandContext,
): void {
  const { agentId, model, tasks, usage, costUsd, judge, judgeCalls, seconds, until } = estimate;
  const basis =
    estimate.basis === null
      ? "a guess, because there is no earlier run of this agent and model"
      : `${counted(estimate.basis, "task")} of earlier runs`;
  const settings = used.map(({ name, value, line }) => ({ name, value, line }));
  const config = used.length === 0 ? {} : { config: { path, settings } };
  const claim = until === null ? {} : { until };
  out.result({ tasks, usage, costUsd, judgeCalls, seconds, basis, ...claim, ...config }, () =>
    summaryBox(
      `ART-E Dry Run: ${agentId} (${model})`,
      compact([
        ["Tasks", count(tasks)],
        ["Tokens", `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
        ["Cost", costUsd === null ? "unknown (pass --price IN,OUT)" : usd(costUsd)],
        judge !== null && (["Judge", `${counted(judgeCalls, "call")} to ${judge}, not included in the cost`] as const),
        ["Time", duration(seconds * 1_000)],
        ["Basis", basis],
        ...(until ?? []).map((stop) => [`True gain ${stop.effect}`, expectedStopText(stop)] as const),
        ...settings.map(({ name, value, line }) => [name, `${value} (${path}:${line})`] as const),
      ]),
    ),
  );
}

/** Formats `about 420 questions; established in 78%, refuted in 0% of runs`. */
function expectedStopText({ meanQuestions, established, refuted }: ExpectedStop): string {
  const percent = (fraction: number) => `${Math.round(fraction * 100)}%`;
  return `about ${counted(Math.round(meanQuestions), "question")}; established in ${percent(established)}, refuted in ${percent(refuted)} of runs`;
}

const LABELS: Readonly<Record<HeadlineScorer, string>> = {
  reward: "reward",
  judgeCorrect: "judged correct",
  taskScore: "score",
  goalReached: "goals reached",
  selectionF1: "emails F1",
  sourcesCorrect: "sources",
  semanticScore: "word overlap",
};

/** Running mean of the run's headline score. */
class RunningHeadline {
  private readonly sums: Record<string, { readonly sum: number; readonly n: number }> = {};

  add({ scores }: TaskResult): void {
    for (const [scorer, value] of Object.entries(scores)) {
      if (value === null) continue;
      const { sum, n } = this.sums[scorer] ?? { sum: 0, n: 0 };
      this.sums[scorer] = { sum: sum + value, n: n + 1 };
    }
  }

  /** Returns an empty string if nothing has been scored yet. */
  text(): string {
    const scorer = headlineScorer(this.sums);
    const sums = scorer === null ? undefined : this.sums[scorer];
    return scorer === null || sums === undefined ? "" : `${LABELS[scorer]} ${share(sums.sum / sums.n)}`;
  }
}
