/**
 * Replaces control characters and bidi marks, which could control a terminal or reverse a line, with visible symbols
 * (U+2400 and up) or U+FFFD.
 */
export function stripControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this searches for control characters.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]/gu, (control) =>
    control.charCodeAt(0) < 0x20 ? String.fromCharCode(0x2400 + control.charCodeAt(0)) : "\ufffd",
  );
}
