import { MAX_ERROR_SHARE } from "../proof/thresholds.js";
import type { Variation } from "./variations.js";
import type { WrittenVariation } from "./write-eval.js";
import { bodyOf } from "./written-eval.js";

export interface CheckedVariation extends WrittenVariation {
  /** Null: it is worth testing. */
  readonly rejection: string | null;
}

/** Standard score that a draft's difference between bad and good traces must reach; of chance, one in 40 does. */
const MIN_Z = 2;

/** Says of each why it is not worth testing: it fails, does no better than chance, or is the same as one before. */
export function rejectDrafts(written: readonly WrittenVariation[]): CheckedVariation[] {
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
