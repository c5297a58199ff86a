import type { RunEstimate } from "../../app/run/plan/estimate-run.js";
import { count, duration, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import type { CommandContext } from "../cli/command.js";
import type { ConfiguredFlags } from "../config/read-config.js";

/** What `--dry-run` prints: the estimate, and the settings that come from a config file. */
export function printEstimate(
  estimate: RunEstimate,
  { path, used }: Pick<ConfiguredFlags, "path" | "used">,
  { out }: CommandContext,
): void {
  const { agentId, model, tasks, usage, costUsd, judge, judgeCalls, seconds } = estimate;
  const basis =
    estimate.basis === null
      ? "a guess: no earlier run of this agent and model"
      : `${count(estimate.basis)} tasks of earlier runs`;
  const settings = used.map(({ name, value, line }) => ({ name, value, line }));
  const config = used.length === 0 ? {} : { config: { path, settings } };
  out.result({ tasks, usage, costUsd, judgeCalls, seconds, basis, ...config }, () =>
    summaryBox(`ART-E Dry Run: ${agentId} (${model})`, [
      ["Tasks", count(tasks)],
      ["Tokens", `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
      ["Cost", costUsd === null ? "unknown (give --price IN,OUT)" : usd(costUsd)],
      ...(judge === null ? [] : [["Judge", `${count(judgeCalls)} calls of ${judge}, not in the cost`] as const]),
      ["Time", duration(seconds * 1_000)],
      ["Basis", basis],
      ...settings.map(({ name, value, line }) => [name, `${value} (${path}:${line})`] as const),
    ]),
  );
}
