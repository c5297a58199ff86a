import { CostLimit } from "../models/call-budget.js";
import type { Model, ModelRequest, PriceOf } from "../models/model.js";
import { DEFAULT_MODEL, isRemote, parseModelName } from "../models/model-names.js";
import { openModel, pricesOf, serverOf } from "../models/open-model.js";
import { type Price, priceAt, requirePriced } from "../models/prices.js";
import { type AppContext, type AppSettings, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { JUDGE_TIMEOUT_MS, verdictCache } from "../scoring/judge-settings.js";
import { withStore } from "../store/open-store.js";
import { criterionSentence, OVERALL } from "./criteria.js";
import type { StoredEval } from "./definition.js";
import type { MeasuredOutcome } from "./eval-outcome.js";
import { hashLabels, labelledPages } from "./labels.js";
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
} from "./prompts.js";
import { openEvalBackends, requireSandbox } from "./run-evals.js";
import { runRubric } from "./run-rubric.js";
import { saveDraft } from "./store.js";
import { MAX_ERROR_SHARE, requireLabels } from "./thresholds.js";

interface GenerateOptions extends GenerationModelOptions {
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
    const [page = []] = labelledPages(db, options.criterion, "training", { size: MAX_TRAINING, withHard: true });
    const training = page.map(({ trace, label: { label, note } }): TrainingExample => ({ trace, label, note }));
    const good = training.filter(({ label }) => label === "good").length;
    requireLabels("training", good, training.length - good, options.criterion);
    const opened = await openGenerationModel(options, settings);
    await requireSandbox("A model writes evals in Python");
    const { model, limit } = opened;
    const run = draftRunner(opened, training, context, options.seed);
    const bar = context.progress("Generating");
    try {
      const examples = drawExamples(training, SHOWN_EXAMPLES, options.seed);
      const sentence = criterionSentence(db, options.criterion);
      const criteria = await findCriteria(model, criteriaRequest(examples, sentence), signal);
      let done = 0;
      const writing = { model, training, examples, sentence, criteria, rounds: options.rounds, run };
      const written = await Promise.all(
        VARIATION_NAMES.map(async (variation) => {
          const one = await writeEval(variation, writing, signal);
          bar.update(++done, VARIATION_NAMES.length, `${variation}: ${one.ended}`);
          return one;
        }),
      );
      const labels = hashLabels(page.map(({ label }) => label));
      const origin = { by: "model", seed: options.seed, labels, parent: null } as const;
      const createdAt = new Date().toISOString();
      const variations = rejectDrafts(written).map((one): GeneratedVariation => {
        if (one.best === null || one.rejection !== null) return { ...one, saved: null };
        const name = nameOf(one.variation, options);
        const draft = { name, reference: false, origin, ...definitionOf(one.best.draft, model.id) };
        return { ...one, saved: saveDraft(db, draft, createdAt) };
      });
      const { calls, spentUsd } = limit;
      return { good, bad: training.length - good, criteria, variations, calls, spentUsd };
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
  const cache = verdictCache(settings);
  return async (draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]> => {
    if (draft.kind === "python") return backends.python({ ...draft, reference: false }, traces, signal);
    const sampled = traces.filter((trace) => sample.has(trace));
    const outcomes = await runRubric(draft, sampled, { model, server, cache }, signal);
    let next = 0;
    return traces.map((trace) => (sample.has(trace) ? (outcomes[next++] ?? null) : null));
  };
}

interface CheckedVariation extends WrittenVariation {
  /** Null: it is worth testing. */
  readonly rejection: string | null;
}

/**
 * Standard score that a draft's difference between bad and good traces must reach. The best of five times four drafts
 * is looked at: of all of them by chance together, one in 40 reaches it (Bonferroni).
 */
const MIN_Z = 3.02;

/** Says of each why it is not worth testing: it fails, does no better than chance, or is the same as one before. */
function rejectDrafts(written: readonly WrittenVariation[]): CheckedVariation[] {
  const seen = new Map<string, Variation>();
  return written.map((one) => ({ ...one, rejection: rejectionOf(one, seen) }));
}

function rejectionOf({ variation, best, ended }: WrittenVariation, seen: Map<string, Variation>): string | null {
  if (best === null) return ended;
  const { draft, measured } = best;
  const { failedOn, labelled, errors, z, coverage, falseFailures } = measured;
  if (failedOn > MAX_ERROR_SHARE * (failedOn + labelled)) {
    return `it fails on ${failedOn} of ${failedOn + labelled} training traces: ${errors[0]}`;
  }
  if (z < MIN_Z) {
    const shares = `it fails ${percent(coverage)} of the bad and ${percent(falseFailures)} of the good traces`;
    return `no better than chance on the labels it was written from: ${shares}`;
  }
  const text = bodyOf(draft);
  const same = seen.get(text);
  if (same !== undefined) return `the same as ${same}`;
  seen.set(text, variation);
  return null;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** What writing one eval gave. */
interface WrittenVariation {
  readonly variation: Variation;
  /** The best version; null: none could be used. */
  readonly best: MeasuredDraft | null;
  /** Versions that were written, and measured if they could be used. */
  readonly rounds: number;
  /** Why no version was written, or no further one. */
  readonly ended: string;
}

interface MeasuredDraft {
  readonly draft: WrittenEval;
  readonly measured: TrainingAlignment;
}

interface Writing {
  readonly model: Model;
  /** The training half, or as much of it as is looked at; no prompt holds anything else. */
  readonly training: readonly TrainingExample[];
  /** Those that the first version is written by. */
  readonly examples: readonly TrainingExample[];
  /** What the labels are about, in a person's words; null: nobody wrote it. */
  readonly sentence: string | null;
  readonly criteria: readonly string[];
  /** Rounds of reflection after the first version. */
  readonly rounds: number;
  /** Outcomes of the training traces, in order; null where it was not run. */
  run(draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]>;
}

/** Asks a model what tells good traces from bad ones. Throws a UserError where it does not say. */
async function findCriteria(model: Model, request: ModelRequest, signal: AbortSignal): Promise<readonly string[]> {
  const reply = await completeOrWhy(model, request, signal);
  const read = typeof reply === "string" ? ({ ok: false, why: reply } as const) : readCriteria(reply);
  if (read.ok) return read.value;
  throw new UserError(
    "criteria_missing",
    `${model.id} gave no criteria: ${read.why}`,
    "Try again, or another model.",
    1,
  );
}

/**
 * Has a model write an eval, and rewrite it by the training labels that contradict it. A reply that cannot be used, a
 * refusal, a failed call or a repeated version ends it with the best version so far. Throws only the signal's reason.
 */
async function writeEval(variation: Variation, writing: Writing, signal: AbortSignal): Promise<WrittenVariation> {
  const { model, training, rounds } = writing;
  const seen = new Set<string>();
  let best: MeasuredDraft | null = null;
  let request: ModelRequest = writeRequest(variation, writing, writing.examples);
  for (let round = 0; ; round++) {
    const end = (ended: string): WrittenVariation => ({ variation, best, rounds: round, ended });
    if (round > rounds) return end("all rounds are done");
    const reply = await completeOrWhy(model, request, signal);
    if (typeof reply === "string") return end(reply);
    const read = readWrittenEval(reply);
    if (!read.ok) return end(read.why);
    const draft = read.value;
    const text = bodyOf(draft);
    if (seen.has(text)) return end("the model repeats itself");
    seen.add(text);
    const measured = measureDraft(training, await writing.run(draft, signal));
    if (best === null || isBetter(measured, best.measured)) best = { draft, measured };
    if (measured.contradictions.length === 0 && measured.errors.length === 0) {
      return { variation, best, rounds: round + 1, ended: "no training label contradicts it" };
    }
    request = reflectRequest(variation, draft, measured);
  }
}

/** What fails on fewer traces first, then what agrees better. */
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

interface GenerationModelOptions {
  /** `provider/name`. */
  readonly model: string;
  /** US dollars for a million tokens; undefined: by the table. */
  readonly price?: Price | undefined;
  readonly maxCost: number;
}

interface GenerationModel {
  readonly model: Model;
  readonly server: string | null;
  readonly limit: CostLimit;
}

/**
 * The model that writes evals, at its provider or where the environment says: rubrics are asked there later too. Its
 * replies are kept in the cache folder, so that none is paid for again; calls besides keep to the limit. Throws a
 * UserError for a missing key and an unknown price.
 */
async function openGenerationModel(
  { model: id, price, maxCost }: GenerationModelOptions,
  settings: AppSettings,
): Promise<GenerationModel> {
  const name = parseModelName(id, null);
  if (!isRemote(name.provider)) {
    throw new UserError(
      "model_unfit",
      `--model ${id} writes no evals.`,
      `Name one of a provider, such as ${DEFAULT_MODEL}.`,
    );
  }
  const server = serverOf(name.provider, undefined, settings.env);
  const priceOf: PriceOf = price === undefined ? await pricesOf(name) : (usage) => priceAt(price, usage);
  requirePriced(priceOf, "--max-cost", name.id, "Give it: --price IN,OUT in US dollars for a million tokens.");
  const limit = new CostLimit(maxCost);
  const connection = { baseUrl: server, timeoutMs: JUDGE_TIMEOUT_MS, priceOf, costLimit: limit, cache: true };
  return { model: (await openModel(name, connection, settings)).model, server, limit };
}
