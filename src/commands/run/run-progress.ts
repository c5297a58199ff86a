import type { Emit } from "../../domain/runs/run-event.js";
import { RunAggregate } from "../../evaluation/aggregate/run-aggregate.js";
import type { RateLimiter, RateLimiterState } from "../../models/middleware/rate-limiter.js";
import { count, share, usd } from "../../reports/text/format-number.js";
import { openProgress, type Progress } from "../cli/progress.js";
import type { Settings } from "../cli/settings.js";

interface RunProgress {
  readonly emit: Emit;
  /** Tasks that have begun and are not answered yet. Tasks that are only being saved do not count. */
  underWay(): number;
  stop(): void;
}

/** Shows a run's progress: tasks done and failed, score so far, tokens, cost, what requests wait for, time left. */
export function runProgress(settings: Settings, throttle: RateLimiter | null): RunProgress {
  const tally = new RunAggregate();
  let total = 0;
  let underWay = 0;
  let bar: Progress | null = null;
  const detail = () => {
    const { done, failed, usage, costUsd, retries } = tally.progress;
    const tokens = usage.inputTokens + usage.outputTokens;
    return [
      `${count(done)}/${count(total)}`,
      failed > 0 ? `${count(failed)} failed` : "",
      `semantic ${share(tally.averages().avgSemanticScore)}`,
      tokens > 0 ? `${count(tokens)} tokens  ${usd(costUsd)}` : "",
      retries > 0 ? `${count(retries)} retried` : "",
      throttle === null ? "" : flow(throttle.state()),
    ]
      .filter((part) => part !== "")
      .join("  ");
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
      bar?.update(tally.progress.done, detail());
    },
    underWay: () => underWay,
    stop: () => bar?.stop(),
  };
}

function flow({ running, waiting, why }: RateLimiterState): string {
  return `${running} running${waiting === 0 ? "" : `, ${waiting} waiting for ${WAITING_FOR[why ?? "concurrency"]}`}`;
}

const WAITING_FOR = { concurrency: "a slot", rate: "the rate", tokens: "tokens", server: "the server" } as const;
