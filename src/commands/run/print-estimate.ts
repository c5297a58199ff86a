import type { RunEstimate } from "../../app/run/plan/estimate-run.js";
import { count, duration, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import type { CommandContext } from "../cli/command.js";

/** What `--dry-run` prints. */
export function printEstimate(estimate: RunEstimate, { out }: CommandContext): void {
  const { agentId, model, tasks, usage, costUsd, judge, judgeCalls, seconds } = estimate;
  const basis =
    estimate.basis === null
      ? "a guess: no earlier run of this agent and model"
      : `${count(estimate.basis)} tasks of earlier runs`;
  out.result({ tasks, usage, costUsd, judgeCalls, seconds, basis }, () =>
    summaryBox(`ART-E Dry Run: ${agentId} (${model})`, [
      ["Tasks", count(tasks)],
      ["Tokens", `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
      ["Cost", costUsd === null ? "unknown (give --price IN,OUT)" : usd(costUsd)],
      ...(judge === null ? [] : [["Judge", `${count(judgeCalls)} calls of ${judge}, not in the cost`] as const]),
      ["Time", duration(seconds * 1_000)],
      ["Basis", basis],
    ]),
  );
}
