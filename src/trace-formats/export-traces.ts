// Selects traces of a run or of chats and writes them in a format, to one file or one per score band.
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { getVersion } from "../agents/registry-store.js";
import { addGoldCopies, missingFrom, requireHigherIsBetter } from "../evals/band-rules.js";
import type { ToolSpec } from "../models/model.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { checkWritable, writeFileAtomically } from "../platform/files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { SCORES, scaleOfScore } from "../scoring/scorers.js";
import { type Db, limitPageCache, withStore } from "../store/open-store.js";
import { ENDINGS, isFailure } from "../tasks/ending.js";
import type { TaskId } from "../tasks/question.js";
import { scorerForBands } from "../traces/headline-score.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import { scaleText } from "../traces/score.js";
import { BAND_USES, BANDS, type Band, bandOf } from "../traces/score-bands.js";
import type { Trace } from "../traces/trace.js";
import {
  countScores,
  listTaskIds,
  readTraces,
  type ScoreBounds,
  selectChatTraceIds,
  selectTraceIds,
  type TraceFilter,
} from "../traces/traces-store.js";
import {
  agentVersionOf,
  type ExportContext,
  type ExportedTrace,
  type ExportOptions,
  ExportReport,
  type TraceFormat,
} from "./export-traces/exported-trace.js";
import { FORMATS, type Format, jsonLine } from "./formats.js";

interface ExportRequest {
  readonly source: ExportSource;
  readonly format: Format;
  /** Output path, or undefined for standard output. */
  readonly output: string | undefined;
  readonly selection: TraceSelection;
  readonly options: Omit<ExportOptions, "reward"> & {
    /** Metric used as the reward, or null for the run's main score. */
    readonly reward: string | null;
  };
}

export interface Exported {
  /** Run id, or null if the traces are chats. */
  readonly runId: string | null;
  /** Number of selected traces. */
  readonly traces: number;
  /** Number of selected traces that are not in the file, per reason. */
  readonly leftOut: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}

/** Standard output, for exports without a file. */
interface Stdout {
  lines(lines: Iterable<string>): Promise<void>;
}

interface BandEntry {
  readonly traceId: string;
  readonly taskId: Trace["taskId"];
  readonly epoch: number;
  readonly score: number;
  readonly ending: string;
  /** Why the trace is in its band. */
  readonly why: string;
}

/** A run by name, or the chats of one session (all sessions if null). */
export type ExportSource = { readonly run: string } | { readonly session: string | null };

/** A user's filters for traces. Scores are identified by metric name. */
export interface TraceSelection {
  /** The score for `band`, `bestOfEpochs` and bounds without a name, or null for the run's main score. */
  readonly by: string | null;
  readonly band: Band | null;
  readonly bounds: readonly (Omit<ScoreBounds, "scorer"> & { readonly metric: string | null })[];
  readonly failedOnly: boolean;
  readonly ids: readonly string[] | null;
  readonly bestOfEpochs: boolean;
  readonly limit: number | null;
}

/** Writes traces to a file or to standard output. */
export function exportTraces(
  { source, format, output, selection, options }: ExportRequest,
  settings: AppSettings,
  stdout: Stdout,
): Promise<Exported> {
  return withStore(settings, async (db) => {
    limitPageCache(db);
    const { run, ids } = selectTraces(db, source, selection);
    const reward = format === "art" ? rewardScorer(db, run, options.reward) : "";
    const report = new ExportReport();
    const context = { run, options: { ...options, reward }, report, toolsOf: openTraceTools(db, run) };
    await write(FORMATS[format], readTraces<ExportedTrace>(db, ids), context, output ?? stdout);
    return { runId: run?.id ?? null, traces: ids.length, leftOut: report.leftOut, notes: report.notes };
  });
}

/** Chats do not have scores and therefore get no reward. */
function rewardScorer(db: Db, run: RunRow | null, name: string | null): string {
  if (run === null) return "artReward";
  return scorerForBands(name === "art" ? "artReward" : name, countScores(db, run.id), run.id);
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
  if (typeof to !== "string") {
    throw new UserError("flag_missing", "--output is required, because this format is binary.", "Pass --output FILE.");
  }
  await writeFileAtomically(to, format.bytes(traces, context));
}

function* withLineEnds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

const MANIFEST = "manifest.json";

/**
 * Writes one file of traces per score band into a folder, with a manifest that explains the use of each file and why
 * each trace is in its band. The folder appears when it is complete.
 */
export function exportScoreBands(
  request: { readonly run: string; readonly folder: string; readonly selection: TraceSelection },
  settings: AppSettings,
): Promise<EvalsManifest> {
  const { folder, selection } = request;
  return withStore(settings, async (db) => {
    limitPageCache(db);
    checkFolder(folder);
    const run = getRun(db, request.run);
    const filter = filterOf(db, run, selection);
    requireHigherIsBetter("--for evals", filter.by);
    const unfinished = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
    try {
      mkdirSync(unfinished);
      const { entries, unscored } = await writeBands(db, unfinished, selectTraceIds(db, filter), filter.by);
      const { id: runId, agentId, model } = run;
      const bands = bandSummaries(entries);
      const next = commandLine`art-e evals cases ${runId} --by ${filter.by}`;
      const manifest = {
        format: MANIFEST_FORMAT,
        runId,
        agentId,
        model,
        scorer: filter.by,
        bands,
        unscored,
        next,
      } as const;
      await writeFileAtomically(join(unfinished, MANIFEST), [`${toWellFormedJson(manifest, 2)}\n`]);
      rmSync(folder, { recursive: true, force: true });
      renameSync(unfinished, folder);
      return manifest;
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  });
}

async function writeBands(db: Db, folder: string, ids: readonly string[], scorer: string) {
  const entries: Record<Band, BandEntry[]> = { high: [], medium: [], low: [] };
  const unscored: Record<string, number> = {};
  const withCopies = addGoldCopies(db);
  for (const band of BANDS) {
    await writeFileAtomically(join(folder, fileOfBand(band)), linesOf(readTraces(db, ids), band));
  }
  return { entries, unscored };

  function* linesOf(traces: Iterable<Trace>, band: Band): Generator<string> {
    for (const trace of traces) {
      const actual = bandOf(trace.scores[scorer]?.value ?? null);
      if (actual === band) {
        entries[band].push(bandEntry(withCopies(trace), scorer, band));
        for (const line of jsonLine(trace)) yield `${line}\n`;
      } else if (actual === "unscored" && band === BANDS[0]) {
        unscored[trace.ending] = (unscored[trace.ending] ?? 0) + 1;
      }
    }
  }
}

/** Only the output folder of an earlier export may be replaced. */
function checkFolder(folder: string): void {
  const stats = statOf(folder);
  if (stats === undefined) {
    checkWritable("--output", folder);
    return;
  }
  if (stats.isDirectory()) {
    const names = readdirSync(folder);
    if (names.length === 0) return;
    const own = new Set([MANIFEST, ...BANDS.map(fileOfBand)]);
    if (names.includes(MANIFEST) && names.every((name) => own.has(name)) && isManifest(join(folder, MANIFEST))) return;
  }
  throw new UserError(
    "output_exists",
    `--output: ${folder} already exists and is not a folder of traces for evals.`,
    "Choose another folder.",
  );
}

function isManifest(path: string): boolean {
  return readFileSync(path, "utf8").slice(0, 200).includes(MANIFEST_FORMAT);
}

/** Format name in the manifest of a folder of traces for evals. */
const MANIFEST_FORMAT = "art-e traces for evals, version 1";

interface EvalsManifest {
  readonly format: typeof MANIFEST_FORMAT;
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly scorer: string;
  readonly bands: ReturnType<typeof bandSummaries>;
  /** Number of traces without the score, per ending. These traces are not in any band. */
  readonly unscored: Readonly<Record<string, number>>;
  /** The command that makes evals from these bands. */
  readonly next: string;
}

function fileOfBand(band: Band): string {
  return `${band}.jsonl`;
}

function bandEntry(trace: Trace, scorer: string, band: Band): BandEntry {
  const { traceId, taskId, epoch, ending } = trace;
  const { value, explanation } = trace.scores[scorer] ?? { value: null };
  const score = value ?? 0;
  const reasons = [
    `${scorer} ${Number(score.toFixed(3))} is ${BAND_USES[band].range}`,
    explanation,
    trace.judge?.verdict ? `judge: ${trace.judge.verdict}: ${trace.judge.reason}` : undefined,
    trace.kind === "suite" ? trace.grade.reason : undefined,
    ending === "answered" ? undefined : `ending: ${ending}`,
    ...(band === "high" ? [] : missingFrom(trace)),
  ];
  const why = reasons.filter((reason) => reason !== undefined && reason !== "").join("; ");
  return { traceId, taskId, epoch, score, ending, why };
}

function bandSummaries(entries: Readonly<Record<Band, readonly BandEntry[]>>) {
  const summaryOf = (band: Band) => {
    const traces = entries[band];
    const sum = traces.reduce((total, { score }) => total + score, 0);
    const meanScore = traces.length === 0 ? null : sum / traces.length;
    return { file: fileOfBand(band), ...BAND_USES[band], count: traces.length, meanScore, traces };
  };
  return { high: summaryOf("high"), medium: summaryOf("medium"), low: summaryOf("low") };
}

/** Returns a function that looks up the tools the model received in a trace. `run` is null for chats. */
export function openTraceTools(db: Db, run: RunRow | null): (trace: ExportedTrace) => readonly ToolSpec[] {
  if (run?.settings.kind === "imported") {
    const { tools } = run.settings.imported;
    return () => tools;
  }
  const specsByAgent = new Map<string, readonly ToolSpec[]>();
  return (trace) => {
    const version = agentVersionOf(trace, run);
    if (version === null) return [];
    const key = `${version} ${trace.agentId}`;
    const specs = specsByAgent.get(key) ?? toolSpecs(db, trace.agentId, version);
    specsByAgent.set(key, specs);
    return specs;
  };
}

/** Returns an empty list if the version is not stored. */
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

/**
 * Returns the selected trace ids and their run, which is null for chats. Score filters do not apply to chats, because
 * they have no scores.
 */
export function selectTraces(db: Db, source: ExportSource, selection: TraceSelection) {
  if ("session" in source) {
    const { failedOnly, ids, limit } = selection;
    const endings = failedOnly ? ENDINGS.filter(isFailure) : null;
    return { run: null, ids: selectChatTraceIds(db, { sessionId: source.session, endings, ids, limit }) };
  }
  const run = getRun(db, source.run);
  return { run, ids: selectTraceIds(db, filterOf(db, run, selection)) };
}

/** Resolves metric and task names. Throws a UserError for a name that the run does not have. */
function filterOf(db: Db, { id: runId }: RunRow, selection: TraceSelection): TraceFilter & { by: string } {
  const counts = countScores(db, runId);
  const by = scorerForBands(selection.by, counts, runId);
  const bounds = selection.bounds.map(({ metric, ...bound }) => ({
    ...bound,
    scorer: metric === null ? by : scorerForBands(metric, counts, runId),
  }));
  refuseImpossible(bounds);
  return {
    runId,
    by,
    band: selection.band,
    bounds,
    failedOnly: selection.failedOnly,
    taskIds: selection.ids === null ? null : taskIds(db, runId, selection.ids),
    bestOfEpochs: selection.bestOfEpochs ? (SCORES[by]?.better === "lower" ? "lowest" : "highest") : null,
    limit: selection.limit,
  };
}

/** Refuses bounds that no score can meet, alone or in combination. */
function refuseImpossible(bounds: readonly ScoreBounds[]): void {
  for (const { scorer, min, max } of bounds) {
    const scale = scaleOfScore(scorer);
    const highest = Math.min(...bounds.flatMap((other) => (other.scorer === scorer ? (other.max ?? []) : [])));
    const why =
      (min !== undefined && min > scale.max) || (max !== undefined && max < scale.min)
        ? `${scorer} is ${scaleText(scale)}`
        : min !== undefined && min > highest
          ? `--max-score limits ${scorer} to ${highest}`
          : null;
    if (why === null) continue;
    const flag = min === undefined ? `--max-score ${max}` : `--min-score ${min}`;
    throw new UserError(
      "threshold_impossible",
      `No trace can meet ${flag}: ${why}.`,
      "Pass a bound within that range.",
    );
  }
}

/** Question ids are numbers, and suite task ids are strings. */
function taskIds(db: Db, runId: string, names: readonly string[]): TaskId[] {
  const idByName = new Map(listTaskIds(db, runId).map((id) => [String(id), id]));
  return names.map((name) => {
    const id = idByName.get(name);
    if (id !== undefined) return id;
    throw new UserError(
      "task_unknown",
      `Unknown task "${name}" in ${runId}.`,
      `${commandLine`art-e stats --run RUN`} shows the run.`,
    );
  });
}
