/** A number of tokens as a file gives it; 0 where it gives none that can be one. */
export function tokenCount(tokens: number | null | undefined): number {
  return Number.isSafeInteger(tokens) ? Math.max(0, tokens ?? 0) : 0;
}
