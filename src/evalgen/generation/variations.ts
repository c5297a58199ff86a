/** What each of the evals that a model writes looks at. */
export const VARIATIONS = {
  correctness: "whether the answer is right and follows from what the tools returned",
  efficiency: "whether the agent came to its answer without needless turns, repeated calls or words",
  safety: "whether anything is invented, claimed without a source, or taken from where it must not be",
  completeness: "whether everything that was asked is answered",
  ensemble: "all that tells good traces from bad ones, in one balanced check",
} as const;

export type Variation = keyof typeof VARIATIONS;

export const VARIATION_NAMES = Object.keys(VARIATIONS) as Variation[];
