import type { LiveOptions } from "../../trace-formats/otlp-live.js";
import { contradiction } from "./define-command.js";

/** Returns whether to send traces. Throws a UserError for `--scores` without a server. */
export function sendsTraces({ otlp, otlpEndpoint, scores }: LiveOptions): boolean {
  const sends = otlp || otlpEndpoint !== undefined;
  if (!sends && scores !== undefined) {
    throw contradiction("--scores only applies if traces are sent.", "Add --otlp-endpoint URL or --otlp.");
  }
  return sends;
}
