import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../domain/errors.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { ScorerEntry } from "../../domain/scores/score.js";
import { BANDS, type Band, bandOf } from "../../domain/scores/score-bands.js";
import {
  type BandEntry,
  bandEntry,
  type EvalsManifest,
  evalsManifest,
  fileOfBand,
  MANIFEST_FORMAT,
} from "../../exports/evals-manifest.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { getRun } from "../../store/runs/runs.js";
import { selectTraceIds } from "../../store/runs/trace-selection.js";
import { readTraces } from "../../store/runs/traces.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { filterOf, type TraceSelection } from "./trace-filter.js";

const MANIFEST = "manifest.json";

/**
 * Writes a folder with the traces of a run by band, a file each, and a manifest that says what each is for and why
 * each trace is in it. The folder appears when it is complete.
 */
export function exportScoreBands(
  {
    run: name,
    folder,
    selection,
  }: { readonly run: string; readonly folder: string; readonly selection: TraceSelection },
  settings: AppSettings,
): Promise<EvalsManifest> {
  return withStore(settings, async (db) => {
    checkFolder(folder);
    const run = getRun(db, name);
    const filter = filterOf(db, run, selection);
    refuseLowerIsBetter(filter.by);
    const unfinished = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
    try {
      makeFolder(unfinished);
      const { entries, unscored } = await writeBands(db, unfinished, selectTraceIds(db, filter), filter.by);
      const { id: runId, agentId, model } = run;
      const manifest = evalsManifest({ runId, agentId, model, scorer: filter.by, unscored }, entries);
      await writeFileAtomically(join(unfinished, MANIFEST), [`${JSON.stringify(manifest, null, 2)}\n`]);
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
  for (const band of BANDS) {
    await writeFileAtomically(join(folder, fileOfBand(band)), linesOf(readTraces(db, ids), band));
  }
  return { entries, unscored };

  function* linesOf(traces: Iterable<Trace>, band: Band): Generator<string> {
    for (const trace of traces) {
      const actual = bandOf(trace.scores[scorer]?.value ?? null);
      if (actual === band) {
        entries[band].push(bandEntry(trace, scorer, band));
        yield `${JSON.stringify(trace)}\n`;
      } else if (actual === "unscored" && band === BANDS[0]) {
        unscored[trace.ending] = (unscored[trace.ending] ?? 0) + 1;
      }
    }
  }
}

function refuseLowerIsBetter(scorer: string): void {
  const entries: Readonly<Record<string, ScorerEntry>> = SCORERS;
  if (entries[scorer]?.better !== "lower") return;
  throw new UserError(
    "flags_contradict",
    `--for evals takes high scores for good ones, and of ${scorer} lower is better.`,
    "Name another score with --by.",
  );
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (cause) {
    throw new UserError(
      "output_unwritable",
      `--output: ${path} cannot be made: ${(cause as Error).message}`,
      "Make the folder that it is to be in, or name another.",
      2,
      { cause },
    );
  }
}

/** Only a folder of an earlier export is replaced. */
function checkFolder(folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (stats.isDirectory()) {
    const names = readdirSync(folder);
    if (names.length === 0) return;
    const own = new Set([MANIFEST, ...BANDS.map(fileOfBand)]);
    if (names.includes(MANIFEST) && names.every((name) => own.has(name)) && isManifest(join(folder, MANIFEST))) return;
  }
  throw new UserError(
    "output_exists",
    `--output: ${folder} exists and is not a folder of traces for evals.`,
    "Name another folder.",
  );
}

function isManifest(path: string): boolean {
  return readFileSync(path, "utf8").slice(0, 200).includes(MANIFEST_FORMAT);
}
