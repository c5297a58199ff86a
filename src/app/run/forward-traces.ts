import type { ThreadedResultWriter } from "../../store/runs/result-writer.js";
import type { LiveTraces } from "../traces/live-traces.js";

/** The writer, which also forwards what it has saved; null: it does not. */
export function forwardTraces(writer: ThreadedResultWriter, live: LiveTraces | null): ThreadedResultWriter {
  if (live === null) return writer;
  return {
    ...writer,
    async save(trace, result, failed) {
      const isSaved = await writer.save(trace, result, failed);
      if (isSaved) live.add(trace);
      return isSaved;
    },
  };
}
