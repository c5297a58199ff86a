// Open coding: a person reads a sample of traces and notes the first thing that went wrong in each.
import { z } from "zod";
import { drawAtRandom, drawLikelyFailures, LabelQueue, type NewTrace, type QueuedTrace } from "../evals/labeling.js";
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
  /** Traces of the pass without a note, in random order, and some with a note for a second one. */
  readonly queue: readonly QueuedTrace[];
}

interface CodingNote extends Omit<TraceDraw, "drawn"> {
  readonly traceId: string;
  /** The first thing that went wrong, or null if nothing is wrong. */
  readonly note: string | null;
  readonly annotator: string | null;
  /** Whether the trace was shown again without its first note. */
  readonly isRepeat: boolean;
}

/** The first or the second note of a trace. */
export interface TraceNote {
  readonly traceId: string;
  readonly note: string;
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
  const codedIds = (sql: string) => new Set(db.prepare(sql).pluck().all() as string[]);
  const coded = codedIds("SELECT trace_id FROM coding_notes");
  const repeated = codedIds("SELECT trace_id FROM coding_notes WHERE is_repeat = 1");
  const codedOnce = ids.filter((id) => coded.has(id) && !repeated.has(id));
  const withRepeats = (draws: readonly NewTrace[]) => ({ runId, queue: [...new LabelQueue(draws, codedOnce, seed)] });
  if (!enriched) {
    const pass = drawAtRandom(ids, seed).slice(0, limit);
    return withRepeats(pass.filter(({ traceId }) => !coded.has(traceId)));
  }
  const open = ids.filter((id) => !coded.has(id));
  const missing = Math.max(0, limit - (ids.length - open.length));
  const draws = missing === 0 ? [] : await drawLikelyFailures(db, runId, open, `${seed} ${ids.length - open.length}`);
  return withRepeats(draws.slice(0, missing));
}

/** The traces of a run, or of chats, that have a note. */
export interface CodingPass {
  /** Null for chats. */
  readonly runId: string | null;
  readonly coded: number;
}

/** Returns the pass with the newest note, or null if there are no notes. */
export function newestPass(db: Db): CodingPass | null {
  // CROSS JOIN reads the few notes first. SQLite would read an index of all traces, 14 ms for 45,000 of them.
  const pass = db
    .prepare(
      `SELECT t.run_id AS runId, count(DISTINCT n.trace_id) AS coded
       FROM coding_notes n CROSS JOIN traces t ON t.id = n.trace_id GROUP BY t.run_id ORDER BY max(n.created_at) DESC LIMIT 1`,
    )
    .get() as CodingPass | undefined;
  return pass ?? null;
}

/** A note about a trace. Line breaks become spaces. */
export const noteSchema = z
  .string()
  .transform((text) => text.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1, "expected a note").max(500, "expected at most 500 characters"));

interface StoredNote {
  readonly note: string | null;
  readonly annotator: string | null;
  /** Identifies this version of the note. */
  readonly createdAt: string;
}

/** Another note exists that the person has not seen. */
export class NoteConflict extends UserError {
  constructor(
    traceId: string,
    readonly current: StoredNote,
  ) {
    const { note, annotator } = current;
    super(
      "note_conflict",
      `${traceId} has been noted${annotator === null ? "" : ` by ${annotator}`} in the meantime: ${note ?? "nothing wrong"}.`,
      "Note it again to replace that note, or leave it.",
    );
  }
}

/**
 * Saves the first or the second note of a trace. Replaces an earlier one only if `seen` is its creation time, which
 * means that the person knows it. Otherwise throws a NoteConflict. If the same note of another trace is
 * grouped into failure modes, this one gets the same modes. Throws a UserError for a second note without a first one.
 */
export function saveNote(db: Db, note: CodingNote, seen: string | null = null): void {
  const { traceId } = getTrace(db, note.traceId);
  const isRepeat = Number(note.isRepeat);
  db.transaction(() => {
    const current = db
      .prepare(`SELECT note, annotator, created_at AS createdAt FROM coding_notes WHERE trace_id = ? AND is_repeat = ?`)
      .get(traceId, isRepeat) as StoredNote | undefined;
    if (current !== undefined && current.createdAt !== seen) throw new NoteConflict(traceId, current);
    const createdAt = new Date().toISOString();
    const { drawnFrom, probability } = note.isRepeat ? drawOfNote(db, traceId) : note;
    db.prepare("DELETE FROM coded_modes WHERE trace_id = ? AND is_repeat = ?").run(traceId, isRepeat);
    db.prepare(
      `INSERT INTO coding_notes (trace_id, is_repeat, note, annotator, drawn_from, probability, created_at)
       VALUES (@traceId, @isRepeat, @note, @annotator, @drawnFrom, @probability, @createdAt)
       ON CONFLICT (trace_id, is_repeat) DO UPDATE SET note = excluded.note, annotator = excluded.annotator,
         drawn_from = excluded.drawn_from, probability = excluded.probability, created_at = excluded.created_at`,
    ).run({ ...note, traceId, isRepeat, drawnFrom, probability, createdAt });
    db.prepare(
      `INSERT INTO coded_modes (trace_id, is_repeat, mode)
       SELECT DISTINCT @traceId, @isRepeat, mode FROM coded_modes JOIN coding_notes USING (trace_id, is_repeat)
       WHERE note = @note COLLATE NOCASE`,
    ).run({ traceId, isRepeat, note: note.note });
    syncModeLabels(db, createdAt);
  }).immediate();
}

function drawOfNote(db: Db, traceId: string): Omit<TraceDraw, "drawn"> {
  const draw = db
    .prepare("SELECT drawn_from AS drawnFrom, probability FROM coding_notes WHERE trace_id = ? AND is_repeat = 0")
    .get(traceId) as Omit<TraceDraw, "drawn"> | undefined;
  if (draw !== undefined) return draw;
  throw new UserError(
    "note_unrepeated",
    `Cannot save a second note: ${traceId} does not have a first one.`,
    "Save it as the first note.",
  );
}

/** Deletes the newest note of a trace, with the labels derived from it. */
export function deleteNote(db: Db, traceId: string): void {
  db.transaction(() => {
    const { changes } = db
      .prepare(
        `DELETE FROM coding_notes WHERE trace_id = @traceId
           AND is_repeat = (SELECT max(is_repeat) FROM coding_notes WHERE trace_id = @traceId)`,
      )
      .run({ traceId });
    if (changes === 0)
      throw new UserError("note_unknown", `The trace ${traceId.slice(0, 100)} does not have a note.`, "");
    syncModeLabels(db, new Date().toISOString());
  }).immediate();
}

/** Returns the coding notes of a trace with their failure modes. `note` is null if nothing went wrong. */
export function notesOfTrace(db: Db, traceId: string): (StoredNote & { readonly modes: readonly string[] })[] {
  const rows = db
    .prepare(
      `SELECT note, annotator, created_at AS createdAt,
         (SELECT json_group_array(mode) FROM coded_modes WHERE trace_id = n.trace_id AND is_repeat = n.is_repeat) AS modes
       FROM coding_notes n WHERE trace_id = ? ORDER BY is_repeat`,
    )
    .all(traceId) as (StoredNote & { readonly modes: string })[];
  return rows.map(({ modes, ...note }) => ({ ...note, modes: JSON.parse(modes) as string[] }));
}

/** Returns the distinct notes of all passes, the most frequent first. */
export function listNotes(db: Db): NoteCount[] {
  const notes = db.prepare(
    "SELECT trace_id AS traceId, note FROM coding_notes WHERE note IS NOT NULL ORDER BY created_at, trace_id",
  );
  return countNotes(notes.all() as TraceNote[]);
}

/** Counts the traces of each note. Notes that differ only in case are the same, and keep the first spelling. */
export function countNotes(notes: readonly TraceNote[]): NoteCount[] {
  const tracesOf = new Map<string, { readonly note: string; readonly traces: Set<string> }>();
  for (const { traceId, note } of notes) {
    const key = note.toLowerCase();
    const same = tracesOf.get(key) ?? { note, traces: new Set() };
    same.traces.add(traceId);
    tracesOf.set(key, same);
  }
  return [...tracesOf]
    .map(([key, { note, traces }]) => ({ key, note, traces: traces.size }))
    .sort((a, b) => b.traces - a.traces || (a.key < b.key ? -1 : 1))
    .map(({ note, traces }) => ({ note, traces }));
}
