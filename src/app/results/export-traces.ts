import type { Trace } from "../../domain/runs/trace.js";
import { FORMATS, type Format } from "../../exports/formats.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { getRun } from "../../store/runs/runs.js";
import { iterateTraces, type TraceFilter } from "../../store/runs/traces.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

export interface ExportOptions {
  readonly run: string;
  readonly format: Format;
  readonly output: string | undefined;
  readonly filter: Omit<TraceFilter, "runId">;
}

/** Writes the traces of a run: to a file, or line by line to `write`. Returns how many there were. */
export function exportTraces(
  { run: name, format, output, filter }: ExportOptions,
  settings: AppSettings,
  write: (lines: Iterable<string>) => Promise<void>,
): Promise<{ readonly runId: string; readonly traces: number }> {
  return withStore(settings, async (db) => {
    const { id: runId } = getRun(db, name);
    const traces = counted(iterateTraces(db, { ...filter, runId }));
    const lines = linesOf(traces.each(), format);
    if (output === undefined) await write(lines);
    else await writeFileAtomically(output, withLineEnds(lines));
    return { runId, traces: traces.count() };
  });
}

function* linesOf(traces: Iterable<Trace>, format: Format): Generator<string> {
  for (const trace of traces) yield* FORMATS[format](trace);
}

function* withLineEnds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

function counted<T>(items: Iterable<T>) {
  let seen = 0;
  return {
    *each(): Generator<T> {
      for (const item of items) {
        seen++;
        yield item;
      }
    },
    count: () => seen,
  };
}
