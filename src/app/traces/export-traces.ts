import { UserError } from "../../domain/errors.js";
import { ExportReport } from "../../exports/export-report.js";
import { FORMATS, type Format } from "../../exports/formats.js";
import type { ExportContext, ExportedTrace, ExportOptions, TraceFormat } from "../../exports/trace-format.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import type { RunRow } from "../../store/runs/runs.js";
import { readTraces } from "../../store/runs/traces.js";
import { programVersion } from "../settings/program-version.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { type ExportSource, selectTraces } from "./select-traces.js";
import { scorerOf, type TraceSelection } from "./trace-filter.js";
import { openTraceTools } from "./trace-tools.js";

export interface ExportRequest {
  readonly source: ExportSource;
  readonly format: Format;
  /** Undefined: standard output. */
  readonly output: string | undefined;
  readonly selection: TraceSelection;
  readonly options: Omit<ExportOptions, "reward"> & {
    /** Null: the run's main score. */
    readonly reward: string | null;
  };
}

export interface Exported {
  /** Null: the traces are of chats. */
  readonly runId: string | null;
  /** How many were selected. */
  readonly traces: number;
  /** Those of them that are not in the file, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}

/** Where the traces go that have no file. */
export interface Stdout {
  lines(lines: Iterable<string>): Promise<void>;
  pieces(pieces: Iterable<string>): Promise<void>;
}

/** Writes traces to a file, or to standard output. */
export function exportTraces(
  { source, format, output, selection, options }: ExportRequest,
  settings: AppSettings,
  stdout: Stdout,
): Promise<Exported> {
  return withStore(settings, async (db) => {
    const { run, ids } = selectTraces(db, source, selection);
    const reward = format === "art" ? rewardScorer(db, run, options.reward) : "";
    const report = new ExportReport();
    const context = contextOf(db, run, { ...options, reward }, report);
    await write(FORMATS[format], readTraces<ExportedTrace>(db, ids), context, output ?? stdout);
    return { runId: run?.id ?? null, traces: ids.length, leftOut: report.leftOut, notes: report.notes };
  });
}

/** Chats have no scores, so none of them gets a reward. */
function rewardScorer(db: Db, run: RunRow | null, name: string | null): string {
  return run === null ? "artReward" : scorerOf(db, run, name === "art" ? "artReward" : name);
}

function contextOf(db: Db, run: RunRow | null, options: ExportOptions, report: ExportReport): ExportContext {
  const toolsOf = openTraceTools(db, run);
  return { run, programVersion: programVersion(), scorers: SCORERS, options, report, toolsOf };
}

async function write(
  format: TraceFormat,
  traces: Iterable<ExportedTrace>,
  context: ExportContext,
  to: string | Stdout,
): Promise<void> {
  if ("lines" in format) {
    const lines = format.lines(traces, context);
    await (typeof to === "string" ? writeFileAtomically(to, withLineEnds(lines)) : to.lines(lines));
    return;
  }
  if ("bytes" in format) {
    if (typeof to !== "string") throw needsFile();
    return writeFileAtomically(to, format.bytes(traces, context));
  }
  const pieces = format.pieces(traces, context);
  await (typeof to === "string" ? writeFileAtomically(to, pieces) : to.pieces(pieces));
}

function needsFile(): UserError {
  return new UserError("flag_missing", "This format is no text: it needs a file.", "Name one with --output.");
}

function* withLineEnds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}
