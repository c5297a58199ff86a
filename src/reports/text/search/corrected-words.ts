import { POSTING_LIST_LIMIT } from "../../../store/search/posting-lists.js";
import type { TermCorrection } from "../../../store/search/spelling-correction/correct-terms.js";
import { count } from "../format-number.js";

/** A line for each word that is in no mail: what was searched for instead, and in how many mails that is. */
export function correctedWords(corrections: readonly TermCorrection[]): string {
  const lines = corrections.map(
    ({ word, taken, by, mails }) =>
      `${word}: in no mail; searched for ${takenText(taken)} (${by}), in ${mailsText(mails)}`,
  );
  return lines.join("\n");
}

function takenText(taken: string): string {
  if (taken.endsWith("*")) return `words that begin with ${taken.slice(0, -1)}`;
  return taken.includes(" ") ? `"${taken}"` : taken;
}

/** Posting lists are cut off. */
function mailsText(mails: number): string {
  if (mails >= POSTING_LIST_LIMIT) return `more than ${count(POSTING_LIST_LIMIT - 1)} mails`;
  return mails === 1 ? "1 mail" : `${count(mails)} mails`;
}
