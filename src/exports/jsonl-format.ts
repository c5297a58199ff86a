import type { ExportedTrace } from "./trace-format.js";

/** The complete trace on one line: enough to replay it, to score it again and to write an eval from it. */
export function jsonLine(trace: ExportedTrace): string[] {
  return [JSON.stringify(trace)];
}
