import { UserError } from "../../domain/errors.js";
import type { EvalLabel, LabelSource, TraceLabel } from "../../domain/evals/label.js";
import { newestFeedback } from "../../store/chats/feedback.js";
import type { Db } from "../../store/connection/open-store.js";
import { saveLabels } from "../../store/evals/labels.js";
import { traceIdsToLabel } from "../../store/evals/traces-to-label.js";
import { getRun } from "../../store/runs/runs.js";
import { getTrace, readTraces } from "../../store/runs/traces.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { type DerivedLabel, defaultScorer, labelByFeedback, labelByJudge, labelByScore } from "./derive-labels.js";
import { readLabelFile } from "./read-label-file.js";

export interface ImportLabelsOptions {
  /** A run; undefined: the latest, and with feedback every trace. */
  readonly run?: string | undefined;
  /** feedback, judge, scores, or the path of a file. */
  readonly from: string;
  readonly criterion: string;
  /** With scores: the scorer; undefined: the semantic score, of suites the task score. */
  readonly score?: string | undefined;
}

export interface ImportedLabels {
  readonly source: LabelSource;
  readonly labels: Readonly<Record<EvalLabel, number>>;
  /** Traces without what labels are made from. */
  readonly unlabelled: number;
}

/** Labels traces by what is known of them already. Labels of a better source stay above. */
export function importLabels(options: ImportLabelsOptions, settings: AppSettings): Promise<ImportedLabels> {
  return withStore(settings, (db) => {
    const source = SOURCES[options.from] ?? "person";
    let unlabelled = 0;
    const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
    const createdAt = new Date().toISOString();
    const rows: TraceLabel[] = [];
    for (const { traceId, derived } of derivedLabels(db, options)) {
      if (derived === null) unlabelled++;
      else {
        labels[derived.label]++;
        rows.push({ traceId, criterion: options.criterion, ...derived, source, isRepeat: false, createdAt });
      }
    }
    if (rows.length === 0) throw nothingToLabel(options, unlabelled);
    saveLabels(db, rows);
    return { source, labels, unlabelled };
  });
}

const SOURCES: Readonly<Record<string, LabelSource>> = { feedback: "person", judge: "judge", scores: "score" };

interface DerivedTraceLabel {
  readonly traceId: string;
  readonly derived: DerivedLabel | null;
}

function* derivedLabels(db: Db, { run, from, score }: ImportLabelsOptions): Generator<DerivedTraceLabel> {
  if (from === "feedback") {
    const runId = run === undefined ? null : getRun(db, run).id;
    for (const feedback of newestFeedback(db, runId))
      yield { traceId: feedback.traceId, derived: labelByFeedback(feedback) };
  } else if (from === "judge" || from === "scores") {
    const { id } = getRun(db, run ?? "latest");
    for (const trace of readTraces(db, traceIdsToLabel(db, id))) {
      const derived = from === "judge" ? labelByJudge(trace) : labelByScore(trace, score ?? defaultScorer(trace));
      yield { traceId: trace.traceId, derived };
    }
  } else {
    for (const { trace: name, label, note, line } of readLabelFile(from)) {
      yield { traceId: traceIdOf(db, name, `${from}, line ${line}`), derived: { label, note: note ?? null } };
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

function nothingToLabel({ from, score }: ImportLabelsOptions, unlabelled: number): UserError {
  const why: Readonly<Record<string, readonly [string, string]>> = {
    feedback: ["There is no feedback.", "Give some in the playground (art-e serve), or label with art-e evals label."],
    judge: [`None of ${unlabelled} traces has a verdict.`, "Ask a judge first: art-e score --judge MODEL."],
    scores: [
      `None of ${unlabelled} traces has a value of ${score ?? "its score"}.`,
      "Name a score that the run has with --score; art-e stats --run lists them.",
    ],
  };
  const [message, hint] = why[from] ?? ["There are no labels.", "Name another file."];
  return new UserError("labels_empty", message, hint);
}
