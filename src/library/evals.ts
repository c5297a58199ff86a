// Entry point "art-e/evals" of the package: evals that art-e exported, as functions.
import { readExportedEval, runExportedEval } from "../evals/eval-function.js";
import type { EvalFunction } from "./define.js";
import { contextOf } from "./options/context.js";

export type { EvalFunction, EvalInput, EvalResult } from "./define.js";

/** An eval that is data or a rubric, as `art-e evals export` writes it. */
export type ExportedEval = { readonly name: string; readonly criterion: string; readonly version?: number } & (
  | {
      readonly kind: "rules";
      /** Bounds on features of the trace. */
      readonly pass: { readonly all: readonly (FeatureBound & { readonly feature: string })[] };
    }
  | { readonly kind: "assertions"; readonly answer: { readonly all: readonly Assertion[] } }
  | { readonly kind: "cases"; readonly scoring?: "fraction"; readonly cases: readonly RegressionCase[] }
  | { readonly kind: "rubric"; readonly rubric: string; readonly model: string }
);

type FeatureBound = { readonly at_least: number } | { readonly at_most: number };

type Assertion =
  | { readonly contains: string }
  | { readonly lacks: string }
  | { readonly matches: string }
  | { readonly json: readonly string[] };

interface RegressionCase {
  readonly task: number | string;
  readonly must_contain: readonly string[];
  readonly must_cite: readonly string[];
  /** Where the case comes from. An answer passes only if it contains more of the terms than this one. */
  readonly from?: {
    readonly run: string;
    readonly trace: string;
    readonly band: "high" | "medium" | "low";
    readonly basis: string;
    readonly question: string;
    readonly gold: string;
    readonly answer: string | null;
    readonly missing: readonly string[];
  };
}

/**
 * Returns an eval as a function, with the verdicts of `art-e evals run`. A rubric calls its model with the key in the
 * environment, and its results are cached. Throws an `ArtEError` if the eval is invalid, and the function throws if the
 * eval could not be run.
 */
export function evalFunction(exported: ExportedEval): EvalFunction {
  const definition = readExportedEval(exported);
  // art-e runs evals in TypeScript without keys, and a call must not wait for code to be loaded.
  if (definition.kind === "rubric" && process.permission !== undefined) {
    throw new Error("a rubric needs its model's key, which evals in TypeScript do not have: import its JSON file");
  }
  return async (input, output, trace) => {
    const outcome = await runExportedEval(definition, { input, output, trace }, contextOf({}).settings);
    if (outcome.error !== null) throw new Error(outcome.error);
    return { score: outcome.score, reason: outcome.reason };
  };
}
