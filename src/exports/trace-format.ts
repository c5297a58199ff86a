import type { ToolSpec } from "../domain/models/model.js";
import type { ChatTrace } from "../domain/runs/chat.js";
import type { Trace } from "../domain/runs/trace.js";
import type { ScorerEntry } from "../domain/scores/score.js";
import type { RunRow } from "../store/runs/runs.js";
import type { ExportReport } from "./export-report.js";

/** Of a run's task, or of a chat. */
export type ExportedTrace = Trace | ChatTrace;

/** What a format may need beside the traces. */
export interface ExportContext {
  /** Null: the traces are of chats. */
  readonly run: RunRow | null;
  readonly programVersion: string;
  readonly scorers: Readonly<Record<string, Pick<ScorerEntry, "kind" | "better">>>;
  readonly options: ExportOptions;
  readonly report: ExportReport;
  /** What the model was told of its tools; empty where that is not known, as of agents that live elsewhere. */
  toolsOf(trace: ExportedTrace): readonly ToolSpec[];
}

/** Flags that only some of the formats use. */
export interface ExportOptions {
  /** How `chat` writes arguments. */
  readonly dialect: "openai" | "hf";
  /** The scorer that gives `art` its reward. */
  readonly reward: string;
  /** False: `otlp` leaves out what was said, called, answered and explained. */
  readonly content: boolean;
}

/** Traces as lines, given without line ends. */
export interface LineFormat {
  readonly lines: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<string>;
}

/** Traces as one text, given in pieces. `traces` may be read more than once. */
export interface TextFormat {
  readonly pieces: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<string>;
}

/** Traces as a file that is no text. `traces` may be read more than once. */
export interface BinaryFormat {
  readonly bytes: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<Uint8Array>;
}

export type TraceFormat = LineFormat | TextFormat | BinaryFormat;

/** A format of which each trace gives its own lines. */
export function perTrace(linesOf: (trace: ExportedTrace, context: ExportContext) => Iterable<string>): LineFormat {
  return {
    *lines(traces, context) {
      for (const trace of traces) yield* linesOf(trace, context);
    },
  };
}
