import { artFormat } from "./art-format.js";
import { atifTrajectory } from "./atif-format.js";
import { chatFormat } from "./chat-format.js";
import { inspectFormat } from "./inspect/eval-log.js";
import { inspectJsonFormat } from "./inspect/json-log.js";
import { iofoldSteps } from "./iofold-format.js";
import { jsonLine } from "./jsonl-format.js";
import { otlpFormat } from "./otlp/otlp-format.js";
import { perTrace, type TraceFormat } from "./trace-format.js";

/** All formats by name. To add one: a file or a folder in this folder and a line here. */
export const FORMATS = {
  jsonl: perTrace(jsonLine),
  iofold: perTrace(iofoldSteps),
  inspect: inspectFormat,
  "inspect-json": inspectJsonFormat,
  otlp: otlpFormat,
  chat: chatFormat,
  atif: perTrace(atifTrajectory),
  art: artFormat,
} as const satisfies Record<string, TraceFormat>;

export type Format = keyof typeof FORMATS;
