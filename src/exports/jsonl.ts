import type { Trace } from "../domain/runs/trace.js";

/** The whole trace on one line: enough to replay it, to grade it again and to write an eval from it. */
export function jsonLine(trace: Trace): string[] {
  return [JSON.stringify(trace)];
}
