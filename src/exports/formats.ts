import { iofoldSteps } from "./iofold-format.js";
import { jsonLine } from "./jsonl-format.js";
import { perTrace, type TraceFormat } from "./trace-format.js";

/** All formats by name. To add one: a file or a folder in this folder and a line here. */
export const FORMATS = {
  jsonl: perTrace(jsonLine),
  iofold: perTrace(iofoldSteps),
} as const satisfies Record<string, TraceFormat>;

export type Format = keyof typeof FORMATS;
