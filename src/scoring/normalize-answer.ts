/** Lower case, trimmed, white space collapsed. */
export function normalizeAnswer(text: string): string {
  return text.toLowerCase().trim().replace(/\s+/g, " ");
}

/** The set of words, `[^\w\s]` replaced by a space, lower case. */
export function wordSet(text: string): Set<string> {
  const words = text
    .toLowerCase()
    .replace(/[^\w\s]/g, " ")
    .split(/\s+/);
  return new Set(words.filter((word) => word !== ""));
}
