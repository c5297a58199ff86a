// Writes a report to files: a page with its conversations, or CSV tables.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { createFolder, readNamedText, writeFileAtomically } from "../platform/files.js";
import { csvHead, csvLine, csvSummaries, SUMMARY_FILES } from "../reports/csv-report.js";
import { htmlReport, packedTrace, readPageAssets, traceFile } from "../reports/html-report.js";
import type { Report, ReportHead, TRACE_PLACEMENTS, TraceView } from "../reports/report-data.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { counted } from "../text/format.js";
import { collectReport, type ReportRun, scoreMeanings, withReportRuns } from "./collect-report.js";
import { countTasks } from "./results-file.js";

const TASKS_FILE = "tasks.csv";

type Write = (pieces: Iterable<string>) => Promise<void>;

export interface WrittenPage {
  readonly head: ReportHead;
  readonly bytes: number;
}

type TracePlacement = (typeof TRACE_PLACEMENTS)[number];

export function writeCsvReport(
  names: readonly string[],
  output: string | undefined,
  context: AppContext,
  write: Write,
): Promise<{ readonly runs: readonly string[]; readonly tasks: number }> {
  return withReportRuns(names, context.settings, async (runs) => {
    const pieces = csvPieces(runs, scoreMeanings(runs));
    if (output === undefined) await write(pieces);
    else await writeFileAtomically(output, pieces);
    return { runs: runs.map(({ head }) => head.runId), tasks: countTasks(runs) };
  });
}

export function summaryPaths(folder: string): string[] {
  return [TASKS_FILE, ...SUMMARY_FILES].map((name) => join(folder, name));
}

export function writeCsvSummaries(
  names: readonly string[],
  folder: string,
  context: AppContext,
): Promise<{ readonly runs: readonly string[]; readonly files: readonly string[] }> {
  return withReportRuns(names, context.settings, async (runs) => {
    const { head } = await collect(runs, new TraceStore("none", undefined), context);
    const files = [[TASKS_FILE, csvPieces(runs, head.scores)] as const, ...csvSummaries(head)];
    createFolder("--csv", folder);
    for (const [name, pieces] of files) await writeFileAtomically(join(folder, name), pieces);
    return { runs: runs.map(({ head: { runId } }) => runId), files: files.map(([name]) => name) };
  });
}

export function readReport(names: readonly string[], context: AppContext): Promise<ReportHead> {
  return withReportRuns(names, context.settings, async (runs) => {
    const { head } = await collect(runs, new TraceStore("none", undefined), context);
    return head;
  });
}

export function writePageReport(
  names: readonly string[],
  { output, placement }: { readonly output: string | undefined; readonly placement: TracePlacement },
  context: AppContext,
  write: Write,
): Promise<WrittenPage> {
  return withReportRuns(names, context.settings, async (runs) => {
    const traceStore = new TraceStore(placement, output);
    try {
      return await writePage(await collect(runs, traceStore, context), traceStore, output, write);
    } catch (error) {
      traceStore.discard();
      throw error;
    }
  });
}

function collect(
  runs: readonly ReportRun[],
  traceStore: TraceStore,
  { progress, signal }: AppContext,
): Promise<Report> {
  const bar = progress("Reporting");
  return collectReport(
    runs,
    {
      onTask: (done, total) => bar.update(done, total, counted(done, "task")),
      onTrace: (key, view) => traceStore.add(key, view),
    },
    signal,
  ).finally(() => bar.stop());
}

function* csvPieces(runs: readonly ReportRun[], meanings: ReportHead["scores"]): Generator<string> {
  const ofSuites = runs.some(({ head }) => taskKindOf(head) === "suite");
  yield csvHead(meanings, ofSuites);
  for (const { head, results } of runs) {
    for (const result of results()) yield csvLine({ run: head, result }, meanings, ofSuites);
  }
}

async function writePage(
  report: Report,
  traceStore: TraceStore,
  output: string | undefined,
  write: Write,
): Promise<WrittenPage> {
  const assets = readPageAssets();
  const traces = traceStore.settle(bytesOf(htmlReport(report, assets, [])));
  const page = { ...report, head: { ...report.head, traces } };
  let bytes = 0;
  const pieces = measured(htmlReport(page, assets, traceStore.embedded), (more) => {
    bytes += more;
  });
  if (output === undefined) {
    await write(pieces);
  } else {
    traceStore.finish();
    await writeFileAtomically(output, pieces);
  }
  return { head: page.head, bytes };
}

function bytesOf(pieces: Iterable<string>): number {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece);
  return bytes;
}

function* measured(pieces: Iterable<string>, onBytes: (bytes: number) => void): Generator<string> {
  for (const piece of pieces) {
    onBytes(Buffer.byteLength(piece));
    yield piece;
  }
}

/** Maximum page size in bytes. A page up to this size can be emailed and opens quickly. */
const PAGE_LIMIT = 5_000_000;

/**
 * Collects the conversations of a report for the page, for a folder next to it, or not at all. With `auto`, they are
 * buffered until they exceed the page limit and are then written to the folder. If the page goes to stdout, they are
 * dropped instead.
 */
class TraceStore {
  private readonly held: [key: string, packed: string][] = [];
  private heldBytes = 0;
  private folder: TraceFolder | null = null;
  private none = false;
  private readonly path: string | null;

  constructor(
    private readonly place: TracePlacement,
    output: string | undefined,
  ) {
    this.path = output === undefined ? null : traceFolderOf(output);
    this.none = place === "none";
    if (this.path !== null && (place === "auto" || place === "folder")) checkTraceFolder(this.path);
    if (place === "folder") this.spill();
  }

  add(key: string, view: () => TraceView): void {
    if (this.none) return;
    const packed = packedTrace(view());
    if (this.folder !== null) {
      this.folder.write(key, packed);
      return;
    }
    this.held.push([key, packed]);
    this.heldBytes += packed.length;
    if (this.place === "auto" && this.heldBytes > PAGE_LIMIT) this.spill();
  }

  settle(pageBytes: number): ReportHead["traces"] {
    if (this.place === "auto" && this.folder === null && this.heldBytes + pageBytes > PAGE_LIMIT) this.spill();
    if (this.folder !== null && this.path !== null) return { kind: "folder", folder: basename(this.path) };
    return { kind: this.none ? "none" : "embed" };
  }

  get embedded(): readonly (readonly [key: string, packed: string])[] {
    return this.held;
  }

  finish(): void {
    this.folder?.finish();
  }

  discard(): void {
    this.folder?.discard();
  }

  private spill(): void {
    if (this.path === null) this.none = true;
    else this.folder = new TraceFolder(this.path);
    for (const [key, packed] of this.held.splice(0)) this.folder?.write(key, packed);
  }
}

const NOTE = "READ-ME.txt";
const NOTE_START = "Conversations of";

/** Returns the conversations folder, which is `report-traces` for `report.html`. */
function traceFolderOf(output: string): string {
  return join(dirname(output), `${basename(output).replace(/\.html?$/i, "")}-traces`);
}

/** Refuses to replace a folder that contains anything other than the conversations of an earlier report. */
function checkTraceFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const names = readdirSync(folder);
  if (names.length === 0 || (names.includes(NOTE) && names.every((name) => isOfReport(join(folder, name))))) return;
  throw new UserError(
    "output_unwritable",
    `Cannot write the conversations to ${folder}: it already exists and does not belong to a report.`,
    "Pass another --output, or --traces embed or none.",
  );
}

function isOfReport(path: string): boolean {
  if (basename(path) === NOTE) return readNamedText(path).startsWith(NOTE_START);
  return path.endsWith(".js") && statSync(path).isFile();
}

/** A folder of conversations, written under a temporary name and renamed when complete. */
class TraceFolder {
  private readonly unfinished: string;

  constructor(private readonly folder: string) {
    this.unfinished = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
    mkdirSync(this.unfinished, { recursive: true });
    const page = basename(folder).replace(/-traces$/, ".html");
    writeFileSync(
      join(this.unfinished, NOTE),
      `${NOTE_START} ${page}, one file per task, written by art-e report.\nKeep the folder next to the page.\n`,
    );
  }

  write(key: string, packed: string): void {
    writeFileSync(join(this.unfinished, `${key}.js`), traceFile(key, packed));
  }

  finish(): void {
    checkTraceFolder(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
    renameSync(this.unfinished, this.folder);
  }

  discard(): void {
    rmSync(this.unfinished, { recursive: true, force: true });
  }
}
