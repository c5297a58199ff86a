import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { RunLimits } from "../../../domain/runs/run-limits.js";
import type { RunOptions } from "./run-options.js";

/** The stored limits, with the options given now in their place. */
export function limitsOf(options: RunOptions, stored: RunLimits): RunLimits {
  return {
    maxCostUsd: options.maxCost ?? stored.maxCostUsd,
    maxTokens: options.maxRunTokens ?? stored.maxTokens,
    maxTimeMs: options.maxTime === undefined ? stored.maxTimeMs : options.maxTime * 60_000,
    maxFailures: options.maxFailures ?? stored.maxFailures,
  };
}

/** As flags: `--max-cost 0.5, --max-failures 5%`. Empty where there is no limit. */
export function limitsText({ maxCostUsd, maxTokens, maxTimeMs, maxFailures }: RunLimits): string {
  return [
    ...(maxCostUsd === null ? [] : [`--max-cost ${maxCostUsd}`]),
    ...(maxTokens === null ? [] : [`--max-run-tokens ${maxTokens}`]),
    ...(maxTimeMs === null ? [] : [`--max-time ${maxTimeMs / 60_000}`]),
    ...(maxFailures === null ? [] : [`--max-failures ${failuresText(maxFailures)}`]),
  ].join(", ");
}

function failuresText(limit: NonNullable<RunLimits["maxFailures"]>): string {
  return "tasks" in limit ? `${limit.tasks}` : `${Number((limit.share * 100).toFixed(6))}%`;
}

/** The path that a resumed run writes its results to again. Null for a pipe or a device, which may be gone by then. */
export function outputToKeep(path: string | undefined): string | null {
  if (path === undefined) return null;
  return (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) ? resolve(path) : null;
}
