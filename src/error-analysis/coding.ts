// Open coding: a person reads a sample of traces and notes the first thing that went wrong in each.
import { z } from "zod";
import { drawAtRandom, drawLikelyFailures, type NewTrace } from "../evals/labelling.js";
import { type TraceDraw, traceIdsToLabel } from "../evals/labels.js";
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { getTrace } from "../traces/traces-store.js";
import { syncModeLabels } from "./modes/mode-labels.js";

interface CodingOptions {
  /** A run, or null for chats. */
  readonly run: string | null;
  /** Number of traces in the pass. */
  readonly limit: number;
  readonly seed: number;
  /** Whether likely failures have a higher probability than other traces. */
  readonly enriched: boolean;
}

/** One pass over a sample of traces. */
export interface Coding {
  /** The run, or null for chats. */
  readonly runId: string | null;
  /** Traces of the pass without a note, in random order. */
  readonly queue: readonly NewTrace[];
}

interface CodingNote extends Omit<TraceDraw, "drawn"> {
  readonly traceId: string;
  /** The first thing that went wrong, or null if nothing is wrong. */
  readonly note: string | null;
  readonly annotator: string | null;
}

/** A distinct note with the number of traces that have it. */
export interface NoteCount {
  readonly note: string;
  readonly traces: number;
}

/**
 * Draws the traces of a pass. A pass can be continued, and a larger limit extends it: the same seed draws the same
 * traces at random, and an enriched pass draws as many more as are missing. While drawing an enriched pass, lets other
 * work run.
 */
export async function openCoding(db: Db, { run, limit, seed, enriched }: CodingOptions): Promise<Coding> {
  const runId = run === null ? null : getRun(db, run).id;
  const ids = traceIdsToLabel(db, runId);
  const coded = new Set(db.prepare("SELECT trace_id FROM coding_notes").pluck().all() as string[]);
  if (!enriched) {
    const pass = drawAtRandom(ids, seed).slice(0, limit);
    return { runId, queue: pass.filter(({ traceId }) => !coded.has(traceId)) };
  }
  const open = ids.filter((id) => !coded.has(id));
  const missing = Math.max(0, limit - (ids.length - open.length));
  const draws = missing === 0 ? [] : await drawLikelyFailures(db, runId, open, `${seed} ${ids.length - open.length}`);
  return { runId, queue: draws.slice(0, missing) };
}

/** A note about a trace. Line breaks become spaces. */
export const noteSchema = z
  .string()
  .transform((text) => text.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1, "expected a note").max(500, "expected at most 500 characters"));

/**
 * Saves the note of a trace, and replaces an earlier one. If the same note of another trace is grouped into failure
 * modes, this trace gets the same modes.
 */
export function saveNote(db: Db, note: CodingNote): void {
  const { traceId } = getTrace(db, note.traceId);
  db.transaction(() => {
    const createdAt = new Date().toISOString();
    db.prepare("DELETE FROM coded_modes WHERE trace_id = ?").run(traceId);
    db.prepare(
      `INSERT INTO coding_notes (trace_id, note, annotator, drawn_from, probability, created_at)
       VALUES (@traceId, @note, @annotator, @drawnFrom, @probability, @createdAt)
       ON CONFLICT (trace_id) DO UPDATE SET note = excluded.note, annotator = excluded.annotator,
         drawn_from = excluded.drawn_from, probability = excluded.probability, created_at = excluded.created_at`,
    ).run({ ...note, traceId, createdAt });
    db.prepare(
      `INSERT INTO coded_modes (trace_id, mode)
       SELECT DISTINCT @traceId, m.mode FROM coded_modes m JOIN coding_notes n ON n.trace_id = m.trace_id
       WHERE n.note = @note COLLATE NOCASE`,
    ).run({ traceId, note: note.note });
    syncModeLabels(db, createdAt);
  }).immediate();
}

/** Deletes the note of a trace, with the labels derived from it. */
export function deleteNote(db: Db, traceId: string): void {
  db.transaction(() => {
    const { changes } = db.prepare("DELETE FROM coding_notes WHERE trace_id = ?").run(traceId);
    if (changes === 0)
      throw new UserError("note_unknown", `The trace ${traceId.slice(0, 100)} does not have a note.`, "");
    syncModeLabels(db, new Date().toISOString());
  }).immediate();
}

/** Returns the distinct notes of all passes, the most frequent first. */
export function listNotes(db: Db): NoteCount[] {
  const notes = db.prepare("SELECT note FROM coding_notes WHERE note IS NOT NULL ORDER BY created_at, trace_id");
  return countNotes(notes.pluck().all() as string[]);
}

/** Counts notes. Notes that differ only in case are the same, and keep the first spelling. */
export function countNotes(notes: readonly string[]): NoteCount[] {
  const counts = new Map<string, NoteCount>();
  for (const note of notes) {
    const key = note.toLowerCase();
    const count = counts.get(key) ?? { note, traces: 0 };
    counts.set(key, { ...count, traces: count.traces + 1 });
  }
  return [...counts].sort(([a, x], [b, y]) => y.traces - x.traces || (a < b ? -1 : 1)).map(([, count]) => count);
}
