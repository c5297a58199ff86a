import { isPass, type MeasuredOutcome } from "../../domain/evals/eval-outcome.js";
import { type Alignment, alignmentOf } from "../selection/alignment.js";
import type { TrainingExample } from "./training-example.js";

/** A training trace that a draft and its label disagree on. */
export interface DraftContradiction {
  readonly example: TrainingExample;
  readonly score: number;
  readonly reason: string;
}

/** How far a draft agrees with training labels. */
export interface TrainingAlignment extends Alignment {
  /** Labels that it agrees with, of those traces that it could tell. */
  readonly agreed: number;
  readonly labelled: number;
  /** Traces on which it failed. */
  readonly failedOn: number;
  /** The first few errors, each once. */
  readonly errors: readonly string[];
  /** The first few, bad and good ones in turn. */
  readonly contradictions: readonly DraftContradiction[];
}

const SHOWN = 8;
const ERRORS_SHOWN = 3;

/** `outcomes` are of the training traces in order; null where it was not run. */
export function measureDraft(
  training: readonly TrainingExample[],
  outcomes: readonly (MeasuredOutcome | null)[],
): TrainingAlignment {
  const told = training.flatMap((example, i) => {
    const outcome = outcomes[i];
    if (outcome === undefined || outcome === null || outcome.score === null) return [];
    return [{ example, score: outcome.score, reason: outcome.reason, passed: isPass(outcome.score) }];
  });
  const wrong = told.filter(({ example, passed }) => passed !== (example.label === "good"));
  const errors = outcomes.flatMap((outcome) => outcome?.error ?? []);
  const alignment = alignmentOf(
    told.map(({ example }) => example.label === "bad"),
    told.map(({ passed }) => !passed),
  );
  const missed = wrong.filter(({ example }) => example.label === "bad").slice(0, SHOWN / 2);
  const alarms = wrong.filter(({ example }) => example.label === "good").slice(0, SHOWN - missed.length);
  return {
    ...alignment,
    agreed: told.length - wrong.length,
    labelled: told.length,
    failedOn: errors.length,
    errors: [...new Set(errors)].slice(0, ERRORS_SHOWN),
    contradictions: [...missed, ...alarms],
  };
}
