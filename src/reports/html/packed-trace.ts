import { deflateRawSync } from "node:zlib";
import type { TraceView } from "../page/data.js";

/** A conversation, deflated and in base64: a fifth of its size, and letters only, whatever stands in the mail. */
export function packedTrace(view: TraceView): string {
  return deflateRawSync(JSON.stringify(view), { level: 9 }).toString("base64");
}

/** The file of a conversation: a script, because a page that lies in a folder may load nothing else from beside it. */
export function traceFile(key: string, packed: string): string {
  return `artETrace(${JSON.stringify(key)}, ${JSON.stringify(packed)});\n`;
}
