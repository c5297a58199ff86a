// The Jaccard similarity of two texts or sets of words.

/** Returns the Jaccard similarity of the two word sets, 0 to 1, or 0 if both are empty. */
export function similarity(answer: string | null, gold: string): number {
  return jaccard(wordSet(answer ?? ""), wordSet(gold));
}

/** Returns the Jaccard similarity, 0 to 1, or 0 if both sets are empty. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  const all = a.size + b.size - shared;
  return all === 0 ? 0 : shared / all;
}

/** The lower-case words of a text, with `[^\w\s]` replaced by a space. */
function wordSet(text: string): Set<string> {
  const words = text
    .toLowerCase()
    .replace(/[^\w\s]/g, " ")
    .split(/\s+/);
  return new Set(words.filter((word) => word !== ""));
}
