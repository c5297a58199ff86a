// Measures the features of all templates on labeled traces. `suggest` chooses templates by these values, and the test
// of such an eval repeats the choice on a part of them.
import { performance } from "node:perf_hooks";
import type { Db } from "../../store/open-store.js";
import type { Ending } from "../../tasks/ending.js";
import { traceReader } from "../../traces/traces-store.js";
import { foldOf, type MeasuredTemplate, type TrainingLabels } from "../choose-templates.js";
import type { EvaluatedTrace } from "../definition.js";
import { type EffectiveLabel, labelsOfHalf } from "../effective-labels.js";
import { measureFeatures } from "../features.js";
import { TEMPLATES } from "../templates.js";

interface MeasuredTrace {
  readonly features: Readonly<Record<string, number | null>>;
  readonly ending: Ending;
  /** Running time of one feature. */
  readonly ms: number;
}

/** Measures each trace once, for all modes and templates. Only the feature values stay in memory. */
export class TraceMeasurements {
  private readonly measured = new Map<string, MeasuredTrace | null>();
  private readonly read: (traceId: string) => EvaluatedTrace | undefined;

  constructor(db: Db) {
    this.read = traceReader<EvaluatedTrace>(db);
  }

  /** Returns null for a trace that was deleted or is damaged. */
  of(traceId: string): MeasuredTrace | null {
    const known = this.measured.get(traceId);
    if (known !== undefined) return known;
    const trace = this.read(traceId);
    const measured = trace === undefined ? null : measure(trace);
    this.measured.set(traceId, measured);
    return measured;
  }
}

function measure(trace: EvaluatedTrace): MeasuredTrace {
  const start = performance.now();
  const features = measureFeatures(trace);
  const ms = (performance.now() - start) / Object.keys(features).length;
  return { features, ending: trace.ending, ms };
}

export interface MeasuredLabels {
  readonly templates: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  readonly used: readonly EffectiveLabel[];
}

const FOLDS = 5;

/** Measures the traces that are labeled good or bad, in both halves. `until` leaves out later labels. */
export function measureTemplates(
  db: Db,
  measurements: TraceMeasurements,
  {
    criterion,
    seed,
    until = null,
  }: { readonly criterion: string; readonly seed: number; readonly until?: string | null },
): MeasuredLabels {
  const labeled = labelsOfHalf(db, criterion, null, until).flatMap((label) => {
    const trace = measurements.of(label.traceId);
    return trace === null ? [] : [{ ...label, features: trace.features }];
  });
  return {
    templates: TEMPLATES.map((template) => ({
      template,
      values: labeled.map(({ features }) => features[template.feature] ?? null),
    })),
    labels: {
      bad: labeled.map(({ label }) => label === "bad"),
      questions: labeled.map(({ question }) => question),
      folds: labeled.map(({ question }) => foldOf(question, FOLDS, seed)),
      weights: labeled.map(({ weight }) => weight),
    },
    used: labeled,
  };
}

/** Returns the measured labels of these traces, by index. */
export function selectTraces(
  { templates, labels }: Pick<MeasuredLabels, "templates" | "labels">,
  traces: readonly number[],
): Pick<MeasuredLabels, "templates" | "labels"> {
  const some = <T>(all: readonly T[]) => traces.map((i) => all[i] as T);
  return {
    templates: templates.map(({ template, values }) => ({ template, values: some(values) })),
    labels: {
      bad: some(labels.bad),
      questions: some(labels.questions),
      folds: some(labels.folds),
      weights: some(labels.weights),
    },
  };
}
