import { deflateRawSync } from "node:zlib";
import type { TraceView } from "../page/report-data.js";

/** A conversation, deflated and in base64: a fifth of its size, and safe in a page whatever the mail contains. */
export function packedTrace(view: TraceView): string {
  return deflateRawSync(JSON.stringify(view), { level: 9 }).toString("base64");
}

/** The file of a conversation: a script, as a page opened from disk (file://) can load nothing else from its folder. */
export function traceFile(key: string, packed: string): string {
  return `artETrace(${JSON.stringify(key)}, ${JSON.stringify(packed)});\n`;
}
