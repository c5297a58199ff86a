// Failure modes: named groups of coding notes. A mode's name is also the criterion of its labels.
import { z } from "zod";
import {
  type Criterion,
  criterionNameSchema,
  criterionSentence,
  listCriteria,
  OVERALL,
  sentenceSchema,
  writeCriterion,
} from "../evals/criteria.js";
import { type DrawRow, drawWeight, effectiveLabels } from "../evals/effective-labels.js";
import { labelPairs } from "../evals/label-agreement.js";
import { type EvalLabel, moveBadLabels, renameCriterion, unconfirmedTraces } from "../evals/labels.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { clusteredRate } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import type { LabelPairs } from "../statistics/label-errors.js";
import { predictionPoweredRate } from "../statistics/prediction-powered.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { type CodingPass, countNotes, type NoteCount, newestPass, type TraceNote } from "./coding.js";
import { MODE_FIXES, type ModeFix } from "./mode-fixes.js";
import { syncModeLabels } from "./modes/mode-labels.js";

export interface FailureMode {
  readonly name: string;
  /** A sentence about a good trace, or null if missing. */
  readonly sentence: string | null;
  readonly fix: ModeFix;
  /** Number of coded traces with the mode. A label that a person gave later takes precedence over the note. */
  readonly traces: number;
  /**
   * Fraction of the coded traces with the mode, among those that are grouped or have nothing wrong. Traces of an
   * enriched pass are weighted by the probability of their draw. Corrected for wrong labels if traces were labeled
   * twice.
   */
  readonly rate: Estimate;
  readonly notes: readonly NoteCount[];
}

/** The state of an error analysis. */
export interface Taxonomy {
  /** Number of coded traces. */
  readonly coded: number;
  readonly nothingWrong: number;
  /** Number of traces coded since one had a mode, or a note without a mode, that none before had. */
  readonly sinceNewMode: number;
  /** Notes that are not in any mode yet, the most frequent first. */
  readonly ungrouped: readonly NoteCount[];
  /** The most frequent mode first. */
  readonly modes: readonly FailureMode[];
  /** Modes that traces were labeled for without a coding note. */
  readonly direct: readonly Criterion[];
  /** Number of modes in which a person could look again at traces with a note that was written once. */
  readonly unconfirmed: number;
  /** The newest pass. */
  readonly pass: CodingPass | null;
}

/** Identifies a note: a trace has at most two. */
interface NoteKey {
  readonly traceId: string;
  readonly isRepeat: 0 | 1;
}

interface CodedNote extends NoteKey {
  readonly note: string | null;
  readonly modes: readonly string[];
  /** Whether this is the trace's newest note, which counts. */
  readonly isNewest: boolean;
  /** Repetitions of a question have the same value. */
  readonly question: string;
  /** 1 if every trace had the same chance to be coded. */
  readonly weight: number;
}

interface CodedRow extends Omit<CodedNote, "modes" | "weight" | "isNewest">, Omit<DrawRow, "drawn"> {
  /** JSON array. */
  readonly modes: string;
  readonly isNewest: 0 | 1;
}

/** The changed mode, and the number of traces that entered or left it. */
interface ChangedMode {
  readonly mode: string;
  readonly traces: number;
}

/** Counts the modes over the coded traces of a run, or over all coded traces if `run` is null. */
export function readTaxonomy(db: Db, run: string | null): Taxonomy {
  const runId = run === null ? null : getRun(db, run).id;
  const notes = codedNotes(db, runId);
  const traces = notes.filter(({ isNewest }) => isNewest);
  const isUngrouped = ({ note, modes }: CodedNote) => note !== null && modes.length === 0;
  const grouped = traces.filter((trace) => !isUngrouped(trace));
  const rows = db.prepare("SELECT name, fix FROM failure_modes ORDER BY name").all() as {
    name: string;
    fix: ModeFix;
  }[];
  const modes = rows.map(({ name, fix }): FailureMode => {
    const effective = effectiveLabels(db, name);
    const labels = new Map(effective.map(({ traceId, label }) => [traceId, label]));
    return {
      name,
      fix,
      sentence: criterionSentence(db, name),
      traces: grouped.filter(({ traceId }) => labels.get(traceId) === "bad").length,
      rate: rateOf(grouped, labels, labelPairs(db, name, effective)),
      notes: countNotes(textsOf(notes.filter(({ modes: some }) => some.includes(name)))),
    };
  });
  return {
    coded: traces.length,
    nothingWrong: traces.filter(({ note }) => note === null).length,
    sinceNewMode: tracesSinceNewMode(notes),
    ungrouped: countNotes(textsOf(notes.filter(isUngrouped))),
    modes: modes.sort((a, b) => b.traces - a.traces),
    direct: listCriteria(db).filter(({ name }) => !rows.some((mode) => mode.name === name)),
    unconfirmed: rows.filter(({ name }) => unconfirmedTraces(db, name).length > 0).length,
    pass: newestPass(db),
  };
}

/** A note without a mode counts as a mode. Notes are in the order of time. */
function tracesSinceNewMode(notes: readonly CodedNote[]): number {
  const seen = new Set<string>();
  let since = 0;
  for (const { note, modes, isRepeat } of notes) {
    const found = note !== null && modes.length === 0 ? [note.toLowerCase()] : modes;
    since = found.some((mode) => !seen.has(mode)) ? 0 : since + (isRepeat === 1 ? 0 : 1);
    for (const mode of found) seen.add(mode);
  }
  return since;
}

/** Returns the fraction of the traces labeled bad, free of label errors as far as pairs of labels show them. */
function rateOf(
  traces: readonly CodedNote[],
  labels: ReadonlyMap<string, EvalLabel>,
  pairs: LabelPairs | null,
): Estimate {
  const labeled = traces.flatMap(({ traceId, question: cluster, weight }) => {
    const label = labels.get(traceId);
    return label === "bad" || label === "good" ? [{ isBad: label === "bad", cluster, weight }] : [];
  });
  if (pairs === null) return clusteredRate(labeled.map(({ isBad, ...trace }) => ({ success: isBad, ...trace })));
  // The equations for bad labels are those for good ones. No eval predicts them.
  const predicted = labeled.map(({ isBad, ...trace }) => ({ passed: false, good: isBad, ...trace }));
  const { again, ...others } = pairs;
  return predictionPoweredRate(predicted, {
    ...others,
    ...(again === undefined ? {} : { again: { good: again.bad, bad: again.good } }),
  });
}

function textsOf(notes: readonly CodedNote[]): TraceNote[] {
  return notes.flatMap(({ traceId, note }) => (note === null ? [] : [{ traceId, note }]));
}

function codedNotes(db: Db, runId: string | null): CodedNote[] {
  // CROSS JOIN for the reason given in `newestPass`.
  const rows = db
    .prepare(
      `SELECT n.trace_id AS traceId, n.is_repeat AS isRepeat, n.note,
              coalesce('task ' || r.task_id, n.trace_id) AS question,
              n.is_repeat = max(n.is_repeat) OVER (PARTITION BY n.trace_id) AS isNewest,
              n.drawn_from AS drawnFrom, n.probability, min(n.drawn_from) OVER (PARTITION BY t.run_id) - 1 AS remaining,
              (SELECT json_group_array(mode) FROM coded_modes m
               WHERE m.trace_id = n.trace_id AND m.is_repeat = n.is_repeat) AS modes
       FROM coding_notes n CROSS JOIN traces t ON t.id = n.trace_id LEFT JOIN results r ON r.trace_id = n.trace_id
       WHERE @runId IS NULL OR t.run_id = @runId ORDER BY n.created_at, n.trace_id`,
    )
    .all({ runId }) as CodedRow[];
  return rows.map(({ modes, isNewest, ...note }) => ({
    ...note,
    weight: drawWeight(note),
    isNewest: isNewest === 1,
    modes: JSON.parse(modes) as string[],
  }));
}

export const modeNameSchema = criterionNameSchema.refine(
  (name) => name !== OVERALL,
  `expected a name other than ${OVERALL}`,
);

/** Selects notes by their text or a part of it, ignoring case, or the note of the trace with this id. */
const noteSelector = z.string().trim().min(1, "expected a part of a note").max(500);

/** A change of the taxonomy by a person. Labels of the modes follow immediately. */
export const modeChangeSchema = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.literal("assign"),
    mode: modeNameSchema,
    notes: z.array(noteSelector).min(1),
    sentence: sentenceSchema.optional().meta({ description: "Description for a mode that has none" }),
  }),
  z.strictObject({ action: z.literal("unassign"), mode: modeNameSchema, notes: z.array(noteSelector).min(1) }),
  z.strictObject({ action: z.literal("merge"), mode: modeNameSchema, into: modeNameSchema }),
  z.strictObject({ action: z.literal("rename"), mode: modeNameSchema, name: modeNameSchema }),
  z.strictObject({
    action: z.literal("split"),
    mode: modeNameSchema,
    name: modeNameSchema,
    notes: z.array(noteSelector).min(1),
  }),
  z.strictObject({ action: z.literal("delete"), mode: modeNameSchema }),
  z.strictObject({
    action: z.literal("describe"),
    mode: criterionNameSchema,
    fix: z.enum(MODE_FIXES).optional(),
    sentence: sentenceSchema.optional(),
  }),
]);

export type ModeChange = z.output<typeof modeChangeSchema>;

/** Applies a change with its labels in one transaction. Throws a UserError for unknown modes and notes. */
export function changeModes(db: Db, change: ModeChange): ChangedMode {
  return db
    .transaction(() => {
      const changed = applyChange(db, change);
      syncModeLabels(db, new Date().toISOString());
      return changed;
    })
    .immediate();
}

function applyChange(db: Db, change: ModeChange): ChangedMode {
  switch (change.action) {
    case "assign":
      createMode(db, change.mode);
      if (change.sentence !== undefined && criterionSentence(db, change.mode) === null) {
        writeCriterion(db, change.mode, change.sentence);
      }
      return { mode: change.mode, traces: addToMode(db, change.mode, selectNotes(db, change.notes, null)) };
    case "unassign":
      requireMode(db, change.mode);
      return { mode: change.mode, traces: takeFromMode(db, change.mode, selectNotes(db, change.notes, change.mode)) };
    case "merge":
      return mergeModes(db, change.mode, change.into);
    case "rename":
      return renameMode(db, change.mode, change.name);
    case "split":
      return splitMode(db, change);
    case "delete":
      requireMode(db, change.mode);
      return { mode: change.mode, traces: deleteMode(db, change.mode) };
    case "describe":
      return describeMode(db, change);
  }
}

function createMode(db: Db, name: string): void {
  db.prepare("INSERT OR IGNORE INTO failure_modes (name, created_at) VALUES (?, ?)").run(
    name,
    new Date().toISOString(),
  );
}

function hasMode(db: Db, name: string): boolean {
  return db.prepare("SELECT 1 FROM failure_modes WHERE name = ?").get(name) !== undefined;
}

function requireMode(db: Db, name: string): void {
  if (hasMode(db, name)) return;
  const names = db.prepare("SELECT name FROM failure_modes ORDER BY name").pluck().all() as string[];
  throw new UserError(
    "mode_unknown",
    `Unknown failure mode "${name}".`,
    names.length === 0
      ? `Create one: ${commandLine`art-e evals modes assign ${name} ${"part of a note"}`}`
      : `Available: ${names.join(", ")}.`,
  );
}

function refuseExisting(db: Db, name: string): void {
  if (!hasMode(db, name)) return;
  throw new UserError(
    "mode_exists",
    `The failure mode ${name} already exists.`,
    `Choose another name, or merge: ${commandLine`art-e evals modes merge MODE ${name}`}`,
  );
}

function mergeModes(db: Db, mode: string, into: string): ChangedMode {
  requireMode(db, mode);
  requireMode(db, into);
  if (mode === into) throw new UserError("modes_same", `Cannot merge ${mode} with itself.`, "Specify two modes.");
  addToMode(db, into, notesOf(db, mode));
  const traces = deleteMode(db, mode);
  // A direct label that the trace has the merged mode also holds for the other mode. Its absence does not.
  moveBadLabels(db, mode, into);
  return { mode: into, traces };
}

function renameMode(db: Db, mode: string, name: string): ChangedMode {
  requireMode(db, mode);
  refuseExisting(db, name);
  db.prepare("UPDATE failure_modes SET name = ? WHERE name = ?").run(name, mode);
  renameCriterion(db, mode, name);
  return { mode: name, traces: countTraces(notesOf(db, name)) };
}

function splitMode(db: Db, { mode, name, notes }: Extract<ModeChange, { action: "split" }>): ChangedMode {
  requireMode(db, mode);
  refuseExisting(db, name);
  const keys = selectNotes(db, notes, mode);
  createMode(db, name);
  addToMode(db, name, keys);
  return { mode: name, traces: takeFromMode(db, mode, keys) };
}

function describeMode(db: Db, { mode, fix, sentence }: Extract<ModeChange, { action: "describe" }>): ChangedMode {
  // Traces can be labeled for a mode without notes, which has a sentence only.
  if (fix !== undefined || sentence === undefined) requireMode(db, mode);
  if (fix !== undefined) db.prepare("UPDATE failure_modes SET fix = ? WHERE name = ?").run(fix, mode);
  if (sentence !== undefined) writeCriterion(db, mode, sentence);
  return { mode, traces: countTraces(notesOf(db, mode)) };
}

function notesOf(db: Db, mode: string): NoteKey[] {
  return db
    .prepare("SELECT trace_id AS traceId, is_repeat AS isRepeat FROM coded_modes WHERE mode = ?")
    .all(mode) as NoteKey[];
}

function countTraces(notes: readonly NoteKey[]): number {
  return new Set(notes.map(({ traceId }) => traceId)).size;
}

/** Returns the number of traces with a note that was not in the mode. */
function addToMode(db: Db, mode: string, notes: readonly NoteKey[]): number {
  const add = db.prepare("INSERT OR IGNORE INTO coded_modes (trace_id, is_repeat, mode) VALUES (?, ?, ?)");
  return countTraces(notes.filter(({ traceId, isRepeat }) => add.run(traceId, isRepeat, mode).changes > 0));
}

function takeFromMode(db: Db, mode: string, notes: readonly NoteKey[]): number {
  const remove = db.prepare("DELETE FROM coded_modes WHERE trace_id = ? AND is_repeat = ? AND mode = ?");
  return countTraces(notes.filter(({ traceId, isRepeat }) => remove.run(traceId, isRepeat, mode).changes > 0));
}

/** Returns the number of traces that had the mode. */
function deleteMode(db: Db, mode: string): number {
  const traces = countTraces(notesOf(db, mode));
  db.prepare("DELETE FROM failure_modes WHERE name = ?").run(mode);
  return traces;
}

/**
 * Returns the selected notes, in `mode` if it is not null. A selector that equals a note selects only that note. A
 * trace's id selects its notes. Throws if a selector matches none.
 */
function selectNotes(db: Db, selectors: readonly string[], mode: string | null): NoteKey[] {
  const candidates = db
    .prepare(
      `SELECT trace_id AS traceId, is_repeat AS isRepeat, note FROM coding_notes n
       WHERE note IS NOT NULL AND (@mode IS NULL OR EXISTS (
         SELECT 1 FROM coded_modes m WHERE m.trace_id = n.trace_id AND m.is_repeat = n.is_repeat AND m.mode = @mode))`,
    )
    .all({ mode }) as (NoteKey & TraceNote)[];
  const selected = selectors.flatMap((selector) => {
    const part = selector.toLowerCase();
    const exact = candidates.filter(({ traceId, note }) => traceId === selector || note.toLowerCase() === part);
    const matches = exact.length > 0 ? exact : candidates.filter(({ note }) => note.toLowerCase().includes(part));
    if (matches.length > 0) return matches;
    throw new UserError(
      "note_unmatched",
      `No note${mode === null ? "" : ` in ${mode}`} contains "${selector}".`,
      `List the notes: ${commandLine`art-e evals modes`}`,
    );
  });
  return [...new Set(selected)];
}
