import type { RunActivity, WorkersState } from "../../app/run/answer/task-answerer.js";
import type { Emit } from "../../domain/runs/run-event.js";
import type { RateLimiterState } from "../../models/middleware/rate-limiter.js";
import { count, usd } from "../../reports/text/format-number.js";
import { RunAggregate } from "../../run-analysis/aggregate/run-aggregate.js";
import { openProgress, type Progress } from "../cli/progress.js";
import type { ProgressDetail } from "../cli/progress-line.js";
import type { Settings } from "../cli/settings.js";
import { RunningHeadline } from "./running-headline.js";

interface TerminalProgress {
  readonly emit: Emit;
  /** Tasks that have begun and are not answered yet. Tasks that are only being saved do not count. */
  underWay(): number;
  stop(): void;
}

/** Shows a run's progress: score so far, tasks done, cost, time left; then failures, what requests wait for, tokens. */
export function terminalProgress(settings: Settings, activity: RunActivity): TerminalProgress {
  const tally = new RunAggregate();
  const headline = new RunningHeadline();
  let total = 0;
  let underWay = 0;
  let bar: Progress | null = null;
  const { workers = null } = activity;
  const detail = (): ProgressDetail => {
    const { done, failed, usage, costUsd, retries } = tally.progress;
    const tokens = usage.inputTokens + usage.outputTokens;
    return {
      main: [headline.text(), `${count(done)}/${count(total)}`, tokens > 0 ? usd(costUsd) : ""]
        .filter((part) => part !== "")
        .join("  "),
      more: [
        failed > 0 ? `${count(failed)} failed` : "",
        workers === null ? "" : workersText(workers()),
        activity.throttle === null ? "" : flow(activity.throttle.state()),
        retries > 0 ? `${count(retries)} retried` : "",
        tokens > 0 ? `${count(tokens)} tokens` : "",
      ],
    };
  };
  return {
    emit(event) {
      if (event.type === "run_started") {
        total = event.tasks;
        bar = openProgress(settings, "Answering", total);
      }
      if (event.type === "task_started") underWay++;
      if (event.type === "task_answered") underWay--;
      if (event.type !== "task_finished" && event.type !== "task_kept") return;
      tally.add(event.result);
      headline.add(event.result);
      bar?.update(tally.progress.done, detail());
    },
    underWay: () => workers?.().active ?? underWay,
    stop: () => bar?.stop(),
  };
}

function flow({ running, waiting, why }: RateLimiterState): string {
  return `${running} running${waiting === 0 ? "" : `, ${waiting} waiting for ${WAITING_FOR[why ?? "concurrency"]}`}`;
}

/** `2 workers (a 12/s, b 9/s), 64 tasks under way, waiting for the rate`. */
function workersText({ workers, active, waitingFor }: WorkersState): string {
  if (workers.length === 0) return "no worker";
  const rates = workers.map(({ name, perSecond }) => `${name} ${perSecond.toFixed(1)}/s`).join(", ");
  const who =
    workers.length > MOST_NAMED ? `${count(workers.length)} workers` : `${count(workers.length)} workers (${rates})`;
  return `${who}, ${count(active)} tasks under way${waitingFor === null ? "" : `, waiting for ${WAITING_FOR[waitingFor]}`}`;
}

/** More workers than this are counted. */
const MOST_NAMED = 4;

const WAITING_FOR = { concurrency: "a slot", rate: "the rate", tokens: "tokens", server: "the server" } as const;
