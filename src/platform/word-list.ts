/** Splits a long list, written as text over several lines, into its words. */
export function wordList(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
