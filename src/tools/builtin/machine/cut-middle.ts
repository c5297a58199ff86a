/** The beginning and the end of a long text, with how much is left out between them. */
export function cutMiddle(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  const half = Math.floor(mostChars / 2);
  // Never between the two halves of a character.
  const from = isLowSurrogate(text, half) ? half - 1 : half;
  const to = isLowSurrogate(text, text.length - half) ? text.length - half + 1 : text.length - half;
  return `${text.slice(0, from)}\n… (${to - from} characters left out) …\n${text.slice(to)}`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}
