import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import type { RunOptions } from "./run-options.js";

/** The limits of a run: those it has, but for what is given now. */
export function limitsOf(options: RunOptions, stored: RunLimits): RunLimits {
  return {
    maxCostUsd: options.maxCost ?? stored.maxCostUsd,
    maxTokens: options.maxRunTokens ?? stored.maxTokens,
    maxTimeMs: options.maxTime === undefined ? stored.maxTimeMs : options.maxTime * 60_000,
    maxFailures: options.maxFailures ?? stored.maxFailures,
  };
}

/** As they would be given: `--max-cost 0.5, --max-failures 5%`. Empty where there is none. */
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

/** Where a run that goes on writes its results file again; a pipe or a device is not there for it any more. */
export function outputToKeep(path: string | undefined): string | null {
  if (path === undefined) return null;
  return (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) ? resolve(path) : null;
}
