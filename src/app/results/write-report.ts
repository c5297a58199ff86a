import { UserError } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { csvHead, csvLine } from "../../reports/ci/csv-report.js";
import { packedTrace } from "../../reports/html/packed-trace.js";
import type { ReportHead } from "../../reports/page/report-data.js";
import { count } from "../../reports/text/format-number.js";
import type { Db } from "../../store/connection/open-store.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { programVersion } from "../settings/program-version.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { collectReport, scoreMeanings, storedResults } from "./collect-report.js";
import { type TracePlacement, TraceStore } from "./report-conversations.js";
import { type WrittenPage, writePage } from "./write-page.js";

type Write = (pieces: Iterable<string>) => Promise<void>;

/** Writes a line a task of these runs, to a file or to `write`. Returns what was written. */
export function writeCsvReport(
  names: readonly string[],
  output: string | undefined,
  context: AppContext,
  write: Write,
): Promise<{ readonly runs: readonly string[]; readonly tasks: number }> {
  return withStore(context.settings, async (db) => {
    const runs = runsOf(db, names);
    const { meanings, tasks } = scoreMeanings(db, runs);
    const pieces = csvPieces(db, runs, meanings);
    if (output === undefined) await write(pieces);
    else await writeFileAtomically(output, pieces);
    return { runs: runs.map(({ id }) => id), tasks };
  });
}

/** The figures of these runs, without their tasks. */
export function readReport(names: readonly string[], context: AppContext): Promise<ReportHead> {
  return withStore(context.settings, async (db) => {
    const { head } = await collect(db, names, new TraceStore("none", undefined), context);
    return head;
  });
}

/** Writes these runs as a page, with their conversations where `placement` says. */
export function writePageReport(
  names: readonly string[],
  { output, placement }: { readonly output: string | undefined; readonly placement: TracePlacement },
  context: AppContext,
  write: Write,
): Promise<WrittenPage> {
  return withStore(context.settings, async (db) => {
    const traceStore = new TraceStore(placement, output);
    try {
      return await writePage(await collect(db, names, traceStore, context), traceStore, output, write);
    } catch (error) {
      traceStore.discard();
      throw error;
    }
  });
}

async function collect(db: Db, names: readonly string[], traceStore: TraceStore, { progress, signal }: AppContext) {
  const bar = progress("Reporting");
  const { meanings, leading, runs, tasks } = await collectReport(
    db,
    runsOf(db, names),
    {
      onTask: (done, total) => bar.update(done, total, `${count(done)} tasks`),
      onTrace: (key, view) => traceStore.wantsNone || traceStore.add(key, packedTrace(view())),
    },
    signal,
  ).finally(() => bar.stop());
  const head: ReportHead = {
    version: programVersion(),
    createdAt: new Date().toISOString(),
    scores: meanings,
    leading,
    runs,
    traces: { kind: "none" },
  };
  return { head, tasks };
}

function runsOf(db: Db, names: readonly string[]): RunRow[] {
  const runs = names.map((name) => getRun(db, name));
  const twice = runs.find((run, i) => runs.findIndex(({ id }) => id === run.id) < i);
  if (twice === undefined) return runs;
  throw new UserError("flags_contradict", `The run ${twice.id} is named twice.`, "Name each run once.");
}

function* csvPieces(db: Db, runs: readonly RunRow[], meanings: ReportHead["scores"]): Generator<string> {
  yield csvHead(meanings);
  for (const [run, result] of storedResults(db, runs)) {
    yield csvLine({ runId: run.id, agentId: run.agentId, model: run.model }, result, meanings);
  }
}
