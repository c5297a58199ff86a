import type { Trace } from "../domain/runs/trace.js";
import { iofoldSteps } from "./iofold-format.js";
import { jsonLine } from "./jsonl-format.js";

/** Turns a trace into lines of a file, without line ends. */
export type Exporter = (trace: Trace) => Iterable<string>;

/** All formats by name. To add one: a file in this folder and a line here. */
export const FORMATS = {
  jsonl: jsonLine,
  iofold: iofoldSteps,
} as const satisfies Record<string, Exporter>;

export type Format = keyof typeof FORMATS;
