import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { SuiteAnalysis } from "../../domain/runs/suite-analysis.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import { ToolUseTally } from "../../reports/html/tool-use.js";
import type { ToolUse } from "../../reports/page/report-data.js";
import { analyseSuite } from "../../run-analysis/suite/analyse-suite.js";
import { type AnalysedTask, analysedTask } from "../../run-analysis/suite/analysed-task.js";
import { getRun } from "../../store/runs/runs.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { computeRunTotals } from "./compute-run-totals.js";
import { resultsWithTraces } from "./results-with-traces.js";

export interface AnalysedRun {
  readonly totals: RunTotals;
  /** Of a run over a suite; null elsewhere. */
  readonly analysis: (SuiteAnalysis & { readonly tools: readonly ToolUse[] }) | null;
}

/** The figures of one run. */
export function analyseRun(name: string, settings: AppSettings): Promise<AnalysedRun> {
  return withStore(settings, async (db) => {
    const run = getRun(db, name);
    const totals = await computeRunTotals(db, run);
    if (totals.suite === undefined) return { totals, analysis: null };
    const tools = new ToolUseTally();
    const tasks: AnalysedTask[] = [];
    for await (const [result, trace] of yieldBetween(resultsWithTraces(db, run.id))) {
      tools.add(trace);
      tasks.push(...[analysedTask(result, trace.toolCalls.length)].filter((task) => task !== null));
    }
    return { totals, analysis: { ...analyseSuite(tasks), tools: tools.all() } };
  });
}
