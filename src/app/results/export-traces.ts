import { UserError } from "../../domain/errors.js";
import type { ToolSpec } from "../../domain/models/model.js";
import { ExportReport } from "../../exports/export-report.js";
import { FORMATS, type Format } from "../../exports/formats.js";
import type { ExportContext, ExportedTrace, ExportOptions, TraceFormat } from "../../exports/trace-format.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { getVersion } from "../../store/registry/agent-versions.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { selectTraceIds } from "../../store/runs/trace-selection.js";
import { readTraces } from "../../store/runs/traces.js";
import { programVersion } from "../settings/program-version.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { filterOf, type TraceSelection } from "./trace-filter.js";

export interface ExportRequest {
  readonly run: string;
  readonly format: Format;
  /** Undefined: standard output. */
  readonly output: string | undefined;
  readonly selection: TraceSelection;
  readonly options: ExportOptions;
}

export interface Exported {
  readonly runId: string;
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

/** Writes the traces of a run: to a file, or to standard output. */
export function exportTraces(
  { run: name, format, output, selection, options }: ExportRequest,
  settings: AppSettings,
  stdout: Stdout,
): Promise<Exported> {
  return withStore(settings, async (db) => {
    const run = getRun(db, name);
    const ids = selectTraceIds(db, filterOf(db, run, selection));
    const report = new ExportReport();
    const context = contextOf(db, run, options, report);
    await write(FORMATS[format], readTraces<ExportedTrace>(db, ids), context, output ?? stdout);
    return { runId: run.id, traces: ids.length, leftOut: report.leftOut, notes: report.notes };
  });
}

function contextOf(db: Db, run: RunRow | null, options: ExportOptions, report: ExportReport): ExportContext {
  const known = new Map<string, readonly ToolSpec[]>();
  return {
    run,
    programVersion: programVersion(),
    scorers: SCORERS,
    options,
    report,
    toolsOf(trace) {
      const version = "agentVersion" in trace ? trace.agentVersion : (run?.settings.agentVersion ?? 0);
      const key = `${version} ${trace.agentId}`;
      const specs = known.get(key) ?? toolSpecs(db, trace.agentId, version);
      known.set(key, specs);
      return specs;
    },
  };
}

/** None of an agent that lives elsewhere, which has no version. */
function toolSpecs(db: Db, agentId: string, version: number): ToolSpec[] {
  try {
    return getVersion(db, agentId, version).tools.map(({ tool }) => ({
      name: tool.id,
      description: tool.description,
      parameters: tool.parametersSchema,
    }));
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
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
