import { quotedStart } from "../../../domain/mail/quoted-text.js";
import type { TermMatch } from "../term-matches.js";
import { bm25f } from "./bm25f.js";

/** The passage of a body that fits a query best. */
export interface Passage {
  /** Characters of the body. */
  readonly start: number;
  readonly end: number;
  /** The matches in it. */
  readonly inBody: readonly TermMatch[];
  /** Where quoted mail starts in the body; -1: nowhere. */
  readonly quoted: number;
  /** What each term adds to the score, with its matches in the subject. */
  readonly termScores: Float64Array;
}

/**
 * Characters of a passage. As a whole, a long mail would be put down for its length, and raised by words that have
 * nothing to do with one another.
 */
const PASSAGE_CHARS = 1_500;

/** Passages overlap by half, so that what is asked for is not cut in two. */
const PASSAGE_STEP = PASSAGE_CHARS / 2;

/**
 * Scores each passage of a body as a mail of its own under the same subject. A short body is one passage. `inBody` is
 * in text order.
 */
export function bestPassage(
  body: string,
  inSubject: readonly TermMatch[],
  inBody: readonly TermMatch[],
  weights: readonly number[],
): Passage {
  const quoted = inBody.length > 0 ? quotedStart(body) : -1;
  const length = Math.min(body.length, PASSAGE_CHARS);
  let best: Passage | undefined;
  let bestScore = -1;
  let first = 0;
  let after = 0;
  for (let start = 0; best === undefined || start + PASSAGE_STEP < body.length; start += PASSAGE_STEP) {
    const end = Math.min(start + PASSAGE_CHARS, body.length);
    while ((inBody[first]?.start ?? end) < start) first++;
    while ((inBody[after]?.start ?? end) < end) after++;
    // Without a match it is at most as good as the first.
    if (best !== undefined && first === after) continue;
    const matches = inBody.slice(first, after);
    const termScores = bm25f({ inSubject, inBody: matches, quoted, length }, weights);
    const score = termScores.reduce((sum, one) => sum + one, 0);
    if (score > bestScore) {
      best = { start, end, inBody: matches, quoted, termScores };
      bestScore = score;
    }
  }
  return best;
}
