import type { Trace } from "../domain/runs/trace.js";
import { iofoldSteps } from "./iofold.js";
import { jsonLine } from "./jsonl.js";

/** A trace as the lines of a file, line ends left out. */
export type Exporter = (trace: Trace) => Iterable<string>;

/** Name to format. A new one is a file beside these and a line here. */
export const FORMATS = {
  jsonl: jsonLine,
  iofold: iofoldSteps,
} as const satisfies Record<string, Exporter>;

export type Format = keyof typeof FORMATS;
