/**
 * Returns the text without any of `characters` at its end. `/[...]+$/` would take quadratic time if many of them
 * precede the end.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}
