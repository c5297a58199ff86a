import { contentWords, wordsOf } from "../../models/baseline/keywords.js";

/** So many content words of the question in a row in the mail are a phrase of it. */
export const PHRASE_WORDS = 4;

/** The most content words of `question` that stand in `text` in the same order with no other content word between. */
export function longestSharedPhrase(question: string, text: string): number {
  const asked = sequence(question);
  const written = sequence(text);
  let longest = 0;
  let former = new Uint16Array(written.length + 1);
  for (const word of asked) {
    const lengths = new Uint16Array(written.length + 1);
    for (const [i, other] of written.entries()) {
      if (other !== word) continue;
      const length = (former[i] ?? 0) + 1;
      lengths[i + 1] = length;
      longest = Math.max(longest, length);
    }
    former = lengths;
  }
  return longest;
}

function sequence(text: string): string[] {
  const content = new Set(contentWords(text).map((word) => word.toLowerCase()));
  return wordsOf(text.toLowerCase()).filter((word) => content.has(word));
}
