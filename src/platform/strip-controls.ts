/** Control characters and bidi marks of mail could steer a terminal or turn a line around; they show as a picture of themselves. */
export function stripControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]/gu, (control) =>
    control.charCodeAt(0) < 0x20 ? String.fromCharCode(0x2400 + control.charCodeAt(0)) : "\ufffd",
  );
}
