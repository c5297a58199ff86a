import type { ToolSpec } from "../../src/models/model.js";
import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { otlpFormat } from "../../src/trace-formats/otlp/otlp-write.js";
import { contextOf } from "./context.js";

/** Returns the lines of a trace. */
export function otlpLines(trace: ExportedTrace, tools: readonly ToolSpec[] = [], content = true): string[] {
  const { options } = contextOf();
  const context = contextOf({ options: { ...options, content }, toolsOf: () => tools });
  return [...otlpFormat.lines([trace], context)];
}
