import { type ExportContext, ExportReport } from "../../src/trace-formats/export-traces/exported-trace.js";

/** The input of formats in addition to the traces. */
export function contextOf(changes: Partial<ExportContext> = {}): ExportContext {
  return {
    run: null,
    options: { dialect: "openai", reward: "artReward", content: true },
    report: new ExportReport(),
    toolsOf: () => [],
    ...changes,
  };
}
