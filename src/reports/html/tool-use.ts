import type { Trace } from "../../domain/runs/trace.js";
import type { ToolUse } from "../page/report-data.js";

/** Counts calls and errors of each tool, and the tasks that used it. */
export class ToolUseTally {
  private readonly tools = new Map<string, { calls: number; errors: number; tasks: number; ms: number }>();

  add(trace: Trace): void {
    const seen = new Set<string>();
    for (const { name, error, durationMs } of trace.toolCalls) {
      const tool = this.tools.get(name) ?? { calls: 0, errors: 0, tasks: 0, ms: 0 };
      tool.calls++;
      tool.ms += durationMs;
      if (error !== null) tool.errors++;
      if (!seen.has(name)) tool.tasks++;
      seen.add(name);
      this.tools.set(name, tool);
    }
  }

  all(): ToolUse[] {
    return [...this.tools]
      .map(([name, { ms, ...tool }]) => ({ name, ...tool, meanMs: ms / tool.calls }))
      .sort((a, b) => b.calls - a.calls);
  }
}
