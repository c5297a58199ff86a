import { UserError } from "../../domain/errors.js";
import type { MeasuredOutcome } from "../../domain/evals/eval-outcome.js";
import type { Model, ModelRequest } from "../../domain/models/model.js";
import { criteriaRequest, reflectRequest, writeRequest } from "./generation-prompts.js";
import { measureDraft, type TrainingAlignment } from "./measure-draft.js";
import { drawExamples, SHOWN_EXAMPLES, type TrainingExample } from "./training-example.js";
import type { Variation } from "./variations.js";
import { bodyOf, readCriteria, readWrittenEval, type WrittenEval } from "./written-eval.js";

/** What writing one eval gave. */
export interface WrittenVariation {
  readonly variation: Variation;
  /** The best version; null: none could be used. */
  readonly best: MeasuredDraft | null;
  /** Versions that were written, and measured if they could be used. */
  readonly rounds: number;
  /** Why no version was written, or no further one. */
  readonly ended: string;
}

export interface MeasuredDraft {
  readonly draft: WrittenEval;
  readonly measured: TrainingAlignment;
}

export interface Writing {
  readonly model: Model;
  /** The training half, or as much of it as is looked at; no prompt holds anything else. */
  readonly training: readonly TrainingExample[];
  readonly criteria: readonly string[];
  readonly seed: number;
  /** Rounds of reflection after the first version. */
  readonly rounds: number;
  /** Outcomes of the training traces, in order; null where it was not run. */
  run(draft: WrittenEval, signal: AbortSignal): Promise<readonly (MeasuredOutcome | null)[]>;
}

/** Asks a model what tells good traces from bad ones. Throws a UserError where it does not say. */
export async function findCriteria(
  model: Model,
  examples: readonly TrainingExample[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const reply = await completeOrWhy(model, criteriaRequest(examples), signal);
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
export async function writeEval(
  variation: Variation,
  writing: Writing,
  signal: AbortSignal,
): Promise<WrittenVariation> {
  const { model, training, criteria, seed, rounds } = writing;
  const seen = new Set<string>();
  let best: MeasuredDraft | null = null;
  let request: ModelRequest = writeRequest(variation, criteria, drawExamples(training, SHOWN_EXAMPLES, seed));
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
