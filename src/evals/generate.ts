// `art-e evals suggest --model`: a model writes evals from training labels and improves them in rounds.
import { CostLimit } from "../models/call-budget.js";
import { type Price, priceAt, requirePriced } from "../models/call-cost.js";
import { serverOf } from "../models/connections.js";
import type { Model, ModelRequest, PriceOf } from "../models/model.js";
import { DEFAULT_MODEL, isRemote, parseModelName } from "../models/model-names.js";
import { openModel, pricesOf } from "../models/open-model.js";
import { type AppContext, type AppSettings, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { JUDGE_TIMEOUT_MS, verdictCache } from "../scoring/judge-settings.js";
import { withStore } from "../store/open-store.js";
import { criterionSentence, OVERALL } from "./criteria.js";
import type { EvalLanguage, LabelSources } from "./definition.js";
import { hashLabels, labeledPages, otherSources } from "./effective-labels.js";
import type { MeasuredOutcome } from "./eval-outcome.js";
import {
  bodyOf,
  criteriaRequest,
  drawExamples,
  measureDraft,
  readCriteria,
  readWrittenEval,
  reflectRequest,
  SHOWN_EXAMPLES,
  type TrainingAlignment,
  type TrainingExample,
  VARIATION_NAMES,
  type Variation,
  type WrittenEval,
  writeRequest,
} from "./generate/prompts.js";
import { runRubric } from "./run-evals/run-rubric.js";
import { openEvalBackends, requireSandbox } from "./run-evals.js";
import { type SavedEval, saveDraft } from "./store.js";
import { MAX_ERROR_SHARE, requireLabels } from "./test-eval/thresholds.js";

export interface GenerateOptions extends GenerationModelOptions {
  readonly criterion: string;
  readonly language: EvalLanguage;
  /** Name prefix of the evals. Defaults to the criterion, or `generated`. */
  readonly name?: string | undefined;
  readonly seed: number;
  /** Number of reflection rounds. */
  readonly rounds: number;
}

export interface GeneratedVariation extends WrittenVariation {
  /** Reason for a rejection, or null if the eval is worth testing. */
  readonly rejection: string | null;
  readonly saved: SavedEval | null;
}

export interface Generation {
  /** Number of good traces. Labels that are held out for tests are never read. */
  readonly good: number;
  readonly bad: number;
  /** These labels by source. Absent if all are by people. */
  readonly sources?: LabelSources;
  readonly criteria: readonly string[];
  readonly variations: readonly GeneratedVariation[];
  /** New calls and their cost. Replies cached by an earlier attempt are not counted. */
  readonly calls: number;
  readonly spentUsd: number;
}

/** The result of writing one eval. */
interface WrittenVariation {
  readonly variation: Variation;
  /** The best version, or null if none was usable. */
  readonly best: MeasuredDraft | null;
  /** Number of written versions. Usable ones were also measured. */
  readonly rounds: number;
  /** Why the model did not write another version. */
  readonly ended: string;
}

interface MeasuredDraft {
  readonly draft: WrittenEval;
  readonly measured: TrainingAlignment;
}

interface Writing {
  readonly model: Model;
  readonly language: EvalLanguage;
  /** The training half, or a sample of it. Prompts contain no other traces. */
  readonly training: readonly TrainingExample[];
  /** The examples for the first version. */
  readonly examples: readonly TrainingExample[];
  /** The criterion's sentence, or null if it is missing. */
  readonly sentence: string | null;
  readonly criteria: readonly string[];
  /** Number of reflection rounds after the first version. */
  readonly rounds: number;
  /** Returns the outcomes for the training traces, in order, or null for traces on which it was not run. */
  run(draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]>;
}

export interface GenerationModelOptions {
  /** `provider/name`. */
  readonly model: string;
  /** Price in US dollars per million tokens. Undefined selects the price table. */
  readonly price?: Price | undefined;
  readonly maxCost: number;
}

export interface GenerationModel {
  readonly model: Model;
  readonly server: string | null;
  readonly limit: CostLimit;
}

/**
 * Maximum number of training traces on which drafts are measured. Rubrics are measured on fewer per label, because each
 * trace requires a call.
 */
const MAX_TRAINING = 500;
const RUBRIC_OF_EACH = 30;

/**
 * Has a model write evals from the labels of the training half. Those that do better than chance on this half are saved
 * as drafts.
 */
export function generateEvals(options: GenerateOptions, context: AppContext): Promise<Generation> {
  const { settings, signal } = context;
  return withStore(settings, async (db) => {
    const [page = []] = labeledPages(db, options.criterion, "training", MAX_TRAINING);
    const training = page.map(
      ({ trace, label: { label, note, weight } }): TrainingExample => ({ trace, label, note, weight }),
    );
    const good = training.filter(({ label }) => label === "good").length;
    const bad = training.length - good;
    requireLabels(db, { half: "training", good, bad, criterion: options.criterion });
    const opened = await openGenerationModel(options, settings);
    if (options.language === "python") await requireSandbox("A model writes evals in Python");
    const { model, limit } = opened;
    const run = draftRunner(opened, training, context, options.seed);
    const bar = context.progress("Generating");
    try {
      const examples = drawExamples(training, SHOWN_EXAMPLES, options.seed);
      const sentence = criterionSentence(db, options.criterion);
      const criteria = await findCriteria(model, criteriaRequest(examples, sentence), signal);
      let done = 0;
      const writing = {
        model,
        language: options.language,
        training,
        examples,
        sentence,
        criteria,
        rounds: options.rounds,
        run,
      };
      const written = await Promise.all(
        VARIATION_NAMES.map(async (variation) => {
          const one = await writeEval(variation, writing, signal);
          bar.update(++done, VARIATION_NAMES.length, `${variation}: ${one.ended}`);
          return one;
        }),
      );
      const labels = hashLabels(page.map(({ label }) => label));
      const origin = { by: "model", seed: options.seed, labels } as const;
      const createdAt = new Date().toISOString();
      const seen = new Map<string, Variation>();
      const variations = written.map((one): GeneratedVariation => {
        const rejection = rejectionOf(one, seen);
        if (one.best === null || rejection !== null) return { ...one, rejection, saved: null };
        const name = nameOf(one.variation, options);
        const draft = { name, reference: false, origin, ...definitionOf(one.best.draft, model.id) };
        return { ...one, rejection, saved: saveDraft(db, draft, createdAt, options.criterion) };
      });
      const { calls, spentUsd } = limit;
      return {
        good,
        bad,
        ...otherSources(page.map(({ label }) => label)),
        criteria,
        variations,
        calls,
        spentUsd,
      };
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new Interrupted("interrupted. Paid replies are cached. Run the same command again to continue.");
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

/**
 * Runs drafts on training traces: Python in the sandbox, rubrics with the model that wrote them, within the cost limit.
 */
function draftRunner(
  { model, server }: GenerationModel,
  training: readonly TrainingExample[],
  { settings }: AppContext,
  seed: number,
) {
  const traces = training.map(({ trace }) => trace);
  const sample = new Set(drawExamples(training, RUBRIC_OF_EACH, seed).map(({ trace }) => trace));
  const backends = openEvalBackends(settings);
  const cache = verdictCache(settings);
  return async (draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]> => {
    if (draft.kind === "python") return backends.python({ ...draft, reference: false }, traces, signal);
    if (draft.kind === "typescript") return backends.typescript({ ...draft, reference: false }, traces, signal);
    const sampled = traces.filter((trace) => sample.has(trace));
    const outcomes = await runRubric(draft, sampled, { model, server, cache }, signal);
    let next = 0;
    return traces.map((trace) => (sample.has(trace) ? (outcomes[next++] ?? null) : null));
  };
}

/**
 * Minimum standard score of the difference between bad and good traces. The best of five times four drafts is chosen.
 * By chance alone, one in 40 generations would reach this value (Bonferroni).
 */
const MIN_Z = 3.02;

/** Returns why a draft is rejected: it fails to run, does no better than chance, or is the same as one in `seen`. */
function rejectionOf({ variation, best, ended }: WrittenVariation, seen: Map<string, Variation>): string | null {
  if (best === null) return ended;
  const { draft, measured } = best;
  const { failedOn, labeled, errors, z, trueNegativeRate, falseFailureRate } = measured;
  if (failedOn > MAX_ERROR_SHARE * (failedOn + labeled)) {
    return `it failed on ${failedOn} of ${failedOn + labeled} training traces: ${errors[0]}`;
  }
  if (z < MIN_Z) {
    const shares = `it fails ${percent(trueNegativeRate)} of the bad and ${percent(falseFailureRate)} of the good traces`;
    return `it does not separate the traces it was written from: ${shares}`;
  }
  const text = bodyOf(draft);
  const same = seen.get(text);
  if (same !== undefined) return `the same as ${same}`;
  seen.set(text, variation);
  return null;
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** Asks a model for criteria that separate good traces from bad ones. Throws a UserError if it returns none. */
async function findCriteria(model: Model, request: ModelRequest, signal: AbortSignal): Promise<readonly string[]> {
  const reply = await completeOrWhy(model, request, signal);
  const read = typeof reply === "string" ? ({ ok: false, why: reply } as const) : readCriteria(reply);
  if (read.ok) return read.value;
  throw new UserError(
    "criteria_missing",
    `Cannot get criteria from ${model.id}: ${read.why}`,
    "Try again, or choose another model.",
    1,
  );
}

/**
 * Has a model write an eval and rewrite it based on contradicting training labels. An unusable reply, a refusal, a
 * failed call or a repeated version ends the process, which then returns the best version so far. Throws only the
 * signal's reason.
 */
async function writeEval(variation: Variation, writing: Writing, signal: AbortSignal): Promise<WrittenVariation> {
  const { model, language, training, rounds } = writing;
  const seen = new Set<string>();
  let best: MeasuredDraft | null = null;
  let request: ModelRequest = writeRequest(language, variation, writing, writing.examples);
  for (let round = 0; ; round++) {
    const end = (ended: string): WrittenVariation => ({ variation, best, rounds: round, ended });
    if (round > rounds) return end("all rounds were used");
    const reply = await completeOrWhy(model, request, signal);
    if (typeof reply === "string") return end(reply);
    const read = readWrittenEval(reply, language);
    if (!read.ok) return end(read.why);
    const draft = read.value;
    const text = bodyOf(draft);
    if (seen.has(text)) return end("the model repeated an earlier version");
    seen.add(text);
    const measured = measureDraft(training, await writing.run(draft, signal));
    if (best === null || isBetter(measured, best.measured)) best = { draft, measured };
    if (measured.contradictions.length === 0 && measured.errors.length === 0) {
      return { variation, best, rounds: round + 1, ended: "it agrees with all training labels" };
    }
    request = reflectRequest(language, variation, draft, measured);
  }
}

/** Compares the number of failures first, then the alignment. */
function isBetter(a: TrainingAlignment, b: TrainingAlignment): boolean {
  return a.failedOn === b.failedOn ? a.alignment > b.alignment : a.failedOn < b.failedOn;
}

async function completeOrWhy(model: Model, request: ModelRequest, signal: AbortSignal) {
  try {
    return await model.complete(request, signal);
  } catch (error) {
    signal.throwIfAborted();
    return (error as Error).message;
  }
}

/**
 * Opens the model that writes evals, at its provider or at the server from the environment. Rubrics later run on the
 * same server. Replies are cached, so they are never billed twice. New calls are subject to the cost limit. Throws a
 * UserError for a missing API key or an unknown price.
 */
export async function openGenerationModel(
  { model: id, price, maxCost }: GenerationModelOptions,
  settings: AppSettings,
): Promise<GenerationModel> {
  const name = parseModelName(id, null);
  if (!isRemote(name.provider)) {
    throw new UserError(
      "model_unfit",
      `--model: ${id} cannot write evals.`,
      `Choose a provider's model, such as ${DEFAULT_MODEL}.`,
    );
  }
  const server = serverOf(name.provider, undefined, settings.env);
  const priceOf: PriceOf = price === undefined ? await pricesOf(name) : (usage) => priceAt(price, usage);
  requirePriced(priceOf, "--max-cost", name.id, "Pass --price IN,OUT in US dollars per million tokens.");
  const limit = new CostLimit(maxCost);
  const connection = { baseUrl: server, timeoutMs: JUDGE_TIMEOUT_MS, priceOf, costLimit: limit, cache: true };
  return { model: (await openModel(name, connection, settings)).model, server, limit };
}
