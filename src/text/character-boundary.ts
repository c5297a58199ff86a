/** Returns the index, or one less if it is in the middle of a surrogate pair, so that a cut there keeps both halves. */
export function characterBoundary(text: string, index: number): number {
  return index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff ? index - 1 : index;
}
