// Imports labels from feedback, judge verdicts, scores, or a JSON Lines file.
import { z } from "zod";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { reasonOf, UserError } from "../platform/errors.js";
import { readNamedText } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { presentProperties } from "../platform/optional-values.js";
import { type Db, withStore } from "../store/open-store.js";
import { isFailure } from "../tasks/ending.js";
import { isUnanswerable } from "../tasks/question.js";
import { type Feedback, newestFeedback } from "../traces/feedback-store.js";
import { headlineScorer } from "../traces/headline-score.js";
import { getRun } from "../traces/runs-store.js";
import { bandOf } from "../traces/score-bands.js";
import type { Trace } from "../traces/trace.js";
import { countScores, getTrace, readTraces } from "../traces/traces-store.js";
import { LABEL_SOURCES, type LabelSource, type LabelSources } from "./definition.js";
import {
  drawnFromSchema,
  EVAL_LABELS,
  type EvalLabel,
  LABEL_BASES,
  LABEL_DRAWS,
  probabilitySchema,
  saveLabels,
  type TraceLabel,
  traceIdsToLabel,
  withValidDraw,
} from "./labels.js";

interface ImportLabelsOptions {
  /** Run to label. Undefined selects the latest run, or every trace for feedback. */
  readonly run?: string | undefined;
  /** `feedback`, `judge`, `scores`, or the path of a file. */
  readonly from: string;
  readonly criterion: string;
  /** Annotator for file lines that do not specify one. */
  readonly annotator?: string | undefined;
  /** For scores: the scorer. Undefined selects the run's headline score. */
  readonly score?: string | undefined;
}

interface ImportedLabels {
  /** The source of all labels, or null if a file has several. */
  readonly source: LabelSource | null;
  /** Number of labels by source. Absent if there is only one. */
  readonly sources?: LabelSources;
  readonly labels: Readonly<Record<EvalLabel, number>>;
  /** Number of traces without the required feedback, verdict or score. */
  readonly unlabeled: number;
  /** For scores: the scorer. */
  readonly score?: string;
}

interface DerivedTraceLabel {
  readonly traceId: string;
  readonly derived: DerivedLabel | null;
}

interface DerivedLabel {
  readonly label: EvalLabel;
  readonly note: string | null;
  /** The line of a labels file. */
  readonly line?: LabelLine;
}

/** A line of a labels file. */
const lineSchema = withValidDraw(
  z.strictObject({
    /** Trace id or RUN/TASK. */
    trace: z.string().min(1).max(1_000),
    label: z.enum(EVAL_LABELS, `expected ${EVAL_LABELS.join(", ")}`),
    note: z.string().max(4_000).nullish(),
    drawn: z.enum(LABEL_DRAWS, `expected ${LABEL_DRAWS.join(", ")}`).optional(),
    drawn_from: drawnFromSchema.nullish(),
    probability: probabilitySchema.nullish(),
    source: z.enum(LABEL_SOURCES, `expected ${LABEL_SOURCES.join(", ")}`).optional(),
    annotator: z.string().min(1).max(100).nullish(),
    /** Whether a person labeled the trace again. */
    again: z.boolean().optional(),
    basis: z.enum(LABEL_BASES, `expected ${LABEL_BASES.join(", ")}`).optional(),
  }),
);

type LabelLine = z.output<typeof lineSchema> & { readonly line: number };

/** Labels traces from existing data. Labels from a better source still take precedence. */
export function importLabels(options: ImportLabelsOptions, settings: AppSettings): Promise<ImportedLabels> {
  return withStore(settings, (db) => {
    const source = SOURCES[options.from] ?? "import";
    const sources: LabelSources = {};
    let unlabeled = 0;
    const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
    const createdAt = new Date().toISOString();
    const rows: TraceLabel[] = [];
    const score = options.from === "scores" ? (options.score ?? headlineOf(db, options.run ?? "latest")) : undefined;
    for (const { traceId, derived } of derivedLabels(db, { ...options, score })) {
      if (derived === null) unlabeled++;
      else {
        labels[derived.label]++;
        const { label, note, line } = derived;
        // Verdicts and scores label every trace in a run. Feedback and most files are about traces that somebody chose.
        const drawn = line?.drawn ?? (source === "judge" || source === "score" ? "all" : "unknown");
        const named = line?.annotator ?? options.annotator ?? null;
        const by = line === undefined ? source : sourceOf(line, named);
        const annotator = by === "person" ? named : null;
        sources[by] = (sources[by] ?? 0) + 1;
        const sample = {
          annotator,
          drawn,
          drawnFrom: line?.drawn_from ?? null,
          probability: line?.probability ?? null,
          isRepeat: line?.again ?? false,
          basis: line?.basis ?? "direct",
        };
        rows.push({ traceId, criterion: options.criterion, label, note, source: by, ...sample, createdAt });
      }
    }
    if (rows.length === 0) throw nothingToLabel(options, unlabeled);
    saveLabels(db, rows);
    const [only = null, other] = Object.keys(sources) as LabelSource[];
    const bySource = other === undefined ? { source: only } : { source: null, sources };
    return { ...bySource, labels, unlabeled, ...presentProperties({ score }) };
  });
}

/** A line that names an annotator is by a person. Otherwise, a file has to say so: it might come from a model. */
function sourceOf({ source }: LabelLine, annotator: string | null): LabelSource {
  return source ?? (annotator === null ? "import" : "person");
}

const SOURCES: Readonly<Record<string, LabelSource>> = { feedback: "person", judge: "judge", scores: "score" };

function* derivedLabels(db: Db, { run, from, score }: ImportLabelsOptions): Generator<DerivedTraceLabel> {
  if (from === "feedback") {
    const runId = run === undefined ? null : getRun(db, run).id;
    for (const feedback of newestFeedback(db, runId))
      yield { traceId: feedback.traceId, derived: labelByFeedback(feedback) };
  } else if (from === "judge" || from === "scores") {
    const { id } = getRun(db, run ?? "latest");
    for (const trace of readTraces(db, traceIdsToLabel(db, id))) {
      const derived = score === undefined ? labelByJudge(trace) : labelByScore(trace, score);
      yield { traceId: trace.traceId, derived };
    }
  } else {
    const first = new Map<string, LabelLine>();
    for (const line of readLabelFile(from)) {
      const traceId = traceIdOf(db, line.trace, `${from}, line ${line.line}`);
      // Two people can disagree, and a person who is asked again can change a label.
      const key = JSON.stringify([
        traceId,
        sourceOf(line, line.annotator ?? null),
        line.annotator ?? null,
        line.basis ?? "direct",
      ]);
      const other = first.get(key);
      if (other !== undefined && other.label !== line.label && line.again !== true) {
        throw new UserError(
          "labels_contradict",
          `${from}: line ${other.line} labels ${line.trace} ${other.label}, but line ${line.line} labels it ${line.label}.`,
          "Remove one of the lines.",
        );
      }
      first.set(key, line);
      if (other === undefined || line.again === true) {
        yield { traceId, derived: { label: line.label, note: line.note ?? null, line } };
      }
    }
  }
}

function traceIdOf(db: Db, name: string, where: string): string {
  try {
    return getTrace(db, name).traceId;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(error.code, `${where}: ${error.message}`, error.hint);
  }
}

function nothingToLabel({ from, score }: ImportLabelsOptions, unlabeled: number): UserError {
  const why: Readonly<Record<string, readonly [string, string]>> = {
    feedback: [
      "Cannot import labels: the database does not contain any feedback.",
      `Give feedback in the playground (${commandLine`art-e serve`}), or label with ${commandLine`art-e evals label`}.`,
    ],
    judge: [
      `Cannot import labels: the ${unlabeled} traces do not have verdicts.`,
      `Run a judge first: ${commandLine`art-e score --judge MODEL`}.`,
    ],
    scores: [
      `Cannot import labels: the ${unlabeled} traces do not have values for ${score ?? "the score"}.`,
      `Pass one of the run's scores with --score (${commandLine`art-e stats --run RUN`} lists them).`,
    ],
  };
  const [message, hint] = why[from] ?? ["Cannot import labels: the file is empty.", "Pass another file."];
  return new UserError("labels_empty", message, hint);
}

const HINT = 'Expected lines such as {"trace": "latest/12", "label": "bad", "note": "the price is from another year"}.';

/** Reads a labels file with one JSON object per line. Throws a UserError that names the invalid line. */
function readLabelFile(path: string): LabelLine[] {
  let text: string;
  try {
    text = readNamedText(path);
  } catch (cause) {
    const hint = "--from: expected feedback, judge, scores, or the path of a labels file.";
    throw new UserError("labels_unreadable", `Cannot read ${path}: ${reasonOf(cause)}.`, hint, 2, { cause });
  }
  const lines = text
    .split("\n")
    .flatMap((content, i) =>
      content.trim() === "" ? [] : [{ ...parseLine(content, `${path}, line ${i + 1}`), line: i + 1 }],
    );
  if (lines.length === 0) throw new UserError("labels_empty", `${path} does not contain labels.`, HINT);
  return lines;
}

function parseLine(content: string, where: string): z.output<typeof lineSchema> {
  let value: unknown;
  try {
    // Without the byte order mark, which editors on Windows write.
    value = JSON.parse(content.trim());
  } catch {
    throw new UserError("labels_invalid", `${where}: invalid JSON.`, HINT);
  }
  const { data, error } = lineSchema.safeParse(value);
  if (data !== undefined) return data;
  throw new UserError("labels_invalid", `${where}: ${firstIssue(error, "the line")}.`, HINT);
}

const BAND_LABELS = { high: "good", medium: "neutral", low: "bad", unscored: null } as const;

/**
 * Derives a label from a score. Errors and low scores are bad, and high scores are good. Returns null if there is no
 * value.
 */
export function labelByScore(trace: Trace, scorer: string): DerivedLabel | null {
  if (isFailure(trace.ending)) return { label: "bad", note: `ended by ${trace.ending}` };
  const value = trace.scores[scorer]?.value ?? null;
  const label = BAND_LABELS[bandOf(value)];
  return label === null ? null : { label, note: `${scorer} ${Number(value?.toFixed(3))}` };
}

/** Returns the score that represents a run. */
export function headlineOf(db: Db, run: string): string {
  return headlineScorer(countScores(db, getRun(db, run).id)) ?? "semanticScore";
}

/** Derives a label from the judge's verdict in the trace. Returns null if there is no verdict. */
export function labelByJudge(trace: Trace): DerivedLabel | null {
  const { judge } = trace;
  if (judge === null || judge.verdict === null || trace.kind === "suite") return null;
  const note = `${judge.verdict}: ${judge.reason}`;
  if (judge.verdict === "partly") return { label: "neutral", note };
  const isRight = judge.verdict === "correct" || (judge.verdict === "abstained" && isUnanswerable(trace.task));
  return { label: isRight ? "good" : "bad", note };
}

const RATING_LABELS = { positive: "good", neutral: "neutral", negative: "bad" } as const;

export function labelByFeedback({ rating, notes }: Pick<Feedback, "rating" | "notes">): DerivedLabel {
  return { label: RATING_LABELS[rating], note: notes };
}

/** Formats a label as a line that `readLabelFile` can read. */
export function labelLine({ traceId, label, note, source, annotator, isRepeat, basis, ...draw }: TraceLabel): string {
  return JSON.stringify({
    trace: traceId,
    label,
    ...presentProperties({ note }),
    source,
    ...presentProperties({ annotator }),
    drawn: draw.drawn,
    ...presentProperties({ drawn_from: draw.drawnFrom, probability: draw.probability }),
    ...presentProperties({ again: isRepeat || null, basis: basis === "direct" ? null : basis }),
  } satisfies z.output<typeof lineSchema>);
}
