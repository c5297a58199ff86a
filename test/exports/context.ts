import { ExportReport } from "../../src/exports/export-report.js";
import type { ExportContext } from "../../src/exports/trace-format.js";
import { SCORERS } from "../../src/scoring/scorers.js";

/** What formats get beside the traces. */
export function contextOf(changes: Partial<ExportContext> = {}): ExportContext {
  return {
    run: null,
    programVersion: "1.2.3",
    scorers: SCORERS,
    options: { dialect: "openai", reward: "artReward", content: true },
    report: new ExportReport(),
    toolsOf: () => [],
    ...changes,
  };
}
