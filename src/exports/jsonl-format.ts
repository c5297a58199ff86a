import type { Trace } from "../domain/runs/trace.js";

/** The complete trace on one line: enough to replay it, to score it again and to write an eval from it. */
export function jsonLine(trace: Trace): string[] {
  return [JSON.stringify(trace)];
}
