import type { EvalDefinition, StoredEval } from "../../../domain/evals/eval-definition.js";
import type { MeasuredOutcome } from "../../../domain/evals/eval-outcome.js";
import { OVERALL } from "../../../domain/evals/label.js";
import { type CheckedVariation, rejectDrafts } from "../../../evalgen/generation/reject-drafts.js";
import { drawExamples, SHOWN_EXAMPLES, type TrainingExample } from "../../../evalgen/generation/training-example.js";
import { VARIATION_NAMES, type Variation } from "../../../evalgen/generation/variations.js";
import { findCriteria, writeEval } from "../../../evalgen/generation/write-eval.js";
import type { WrittenEval } from "../../../evalgen/generation/written-eval.js";
import { runRubric } from "../../../evalgen/rubric/run-rubric.js";
import { saveDraft } from "../../../store/evals/evals.js";
import { type AppContext, Interrupted } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { openEvalBackends, requireSandbox } from "../backends/eval-backends.js";
import { rubricCache } from "../backends/rubric-model.js";
import { hashLabels, requireLabels } from "../label-counts.js";
import { labelledPages } from "../labelled-pages.js";
import { type GenerationModel, type GenerationModelOptions, openGenerationModel } from "./generation-model.js";

export interface GenerateOptions extends GenerationModelOptions {
  readonly criterion: string;
  /** What the names of the evals begin with; undefined: the criterion, or `generated`. */
  readonly name?: string | undefined;
  readonly seed: number;
  /** Rounds of reflection. */
  readonly rounds: number;
}

export interface GeneratedVariation extends CheckedVariation {
  readonly saved: { readonly stored: StoredEval; readonly isNew: boolean } | null;
}

export interface Generation {
  /** Of the training half: nothing else was looked at. */
  readonly good: number;
  readonly bad: number;
  readonly criteria: readonly string[];
  readonly variations: readonly GeneratedVariation[];
  /** Calls that were made now, and what they cost; those of an earlier attempt are not made again. */
  readonly calls: number;
  readonly spentUsd: number;
}

/** Training traces that drafts are measured on; of a rubric so many of each kind, as each is a call. */
const MAX_TRAINING = 500;
const RUBRIC_OF_EACH = 30;

/** Has a model write evals by the labels of the training half, and saves those that beat chance on it as drafts. */
export function generateEvals(options: GenerateOptions, context: AppContext): Promise<Generation> {
  const { settings, signal } = context;
  return withStore(settings, async (db) => {
    const [page = []] = labelledPages(db, options.criterion, "training", MAX_TRAINING);
    const training = page.map(
      ({ trace, label: { label, note } }): TrainingExample => ({
        trace,
        note,
        label: label === "bad" ? "bad" : "good",
      }),
    );
    const good = training.filter(({ label }) => label === "good").length;
    requireLabels("training", good, training.length - good, options.criterion);
    const opened = await openGenerationModel(options, settings);
    await requireSandbox("A model writes evals in Python");
    const { model, limit } = opened;
    const run = draftRunner(opened, training, context, options.seed);
    const bar = context.progress("Generating");
    try {
      const criteria = await findCriteria(model, drawExamples(training, SHOWN_EXAMPLES, options.seed), signal);
      let done = 0;
      const writing = { model, training, criteria, seed: options.seed, rounds: options.rounds, run };
      const written = await Promise.all(
        VARIATION_NAMES.map(async (variation) => {
          const one = await writeEval(variation, writing, signal);
          bar.update(++done, VARIATION_NAMES.length, `${variation}: ${one.ended}`);
          return one;
        }),
      );
      const origin = {
        by: "model",
        seed: options.seed,
        labels: hashLabels(page.map(({ label }) => label)),
        parent: null,
      } as const;
      const createdAt = new Date().toISOString();
      const variations = rejectDrafts(written).map((one): GeneratedVariation => {
        if (one.best === null || one.rejection !== null) return { ...one, saved: null };
        const draft = {
          name: nameOf(one.variation, options),
          reference: false,
          origin,
          ...definitionOf(one.best.draft, model.id),
        };
        return { ...one, saved: saveDraft(db, draft as Omit<EvalDefinition, "version">, createdAt) };
      });
      return { good, bad: training.length - good, criteria, variations, ...limit };
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new Interrupted("generation stopped: what was paid for is kept. Go on with the same command.");
    } finally {
      bar.stop();
    }
  });
}

function nameOf(variation: Variation, { name, criterion }: GenerateOptions): string {
  const prefix = name ?? (criterion === OVERALL ? "generated" : criterion);
  return `${prefix.slice(0, 50)}_${variation}`;
}

function definitionOf(draft: WrittenEval, model: string) {
  return draft.kind === "rubric" ? { ...draft, model } : draft;
}

/** Runs drafts on training traces: Python in the sandbox, a rubric by the model that wrote it, within the limit. */
function draftRunner(
  { model, server }: GenerationModel,
  training: readonly TrainingExample[],
  { settings }: AppContext,
  seed: number,
) {
  const traces = training.map(({ trace }) => trace);
  const sample = new Set(drawExamples(training, RUBRIC_OF_EACH, seed).map(({ trace }) => trace));
  const backends = openEvalBackends(settings);
  const cache = rubricCache(settings);
  return async (draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]> => {
    if (draft.kind === "python") return backends.python({ ...draft, reference: false }, traces, signal);
    const sampled = traces.filter((trace) => sample.has(trace));
    const outcomes = await runRubric(draft, sampled, { model, server, cache }, signal);
    let next = 0;
    return traces.map((trace) => (sample.has(trace) ? (outcomes[next++] ?? null) : null));
  };
}
