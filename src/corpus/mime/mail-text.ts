import { decodeWords } from "postal-mime";

/**
 * A subject as every form of a mail gives it: RFC 2047 words decoded, runs of white space (what is left of
 * folded lines among them) made one space.
 */
export function normalizeSubject(subject: string): string {
  const decoded = subject.includes("=?") ? decodeWords(subject) : subject;
  return replaceControls(decoded).replace(/\s+/g, " ").trim();
}

/**
 * A body as every form of a mail gives it: lines ended by LF, without blank lines at its start or white space
 * at its end.
 */
export function normalizeBody(text: string): string {
  return splitBody(text).body;
}

/** The tidied body with the white space that stood before and behind it. */
export function splitBody(text: string): { before: string; body: string; behind: string } {
  const lines = replaceControls(text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text);
  const trimmed = lines.trimEnd();
  const body = trimmed.replace(/^(?:[ \t]*\n)+/, "");
  return { before: trimmed.slice(0, trimmed.length - body.length), body, behind: lines.slice(trimmed.length) };
}

/**
 * A Message-ID in its angle brackets: the first `<...>` of the header, white space within it removed; a bare id
 * is put into brackets. Empty where there is none.
 */
export function normalizeMessageId(header: string): string {
  const text = replaceControls(header);
  const id = (/<([^<>]+)>/.exec(text)?.[1] ?? text.replace(/[<>]/g, "")).replace(/\s+/g, "");
  return id === "" ? "" : `<${id}>`;
}

/** What windows-1252 has at 0x80 to 0x9f; U+FFFD at its five empty places. */
const WINDOWS_1252 = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ";

/**
 * NUL, which would end a text in SQLite's C functions, becomes U+FFFD, so that its place can be seen. The controls U+0080 to
 * U+009F do not occur in mail: they are windows-1252 that something before us read as latin1 (an exporter, or the
 * TextDecoder of some Node releases), so they become the characters that were meant.
 */
export function replaceControls(text: string): string {
  return text.replace(/[\0\x80-\x9f]/g, (control) =>
    control === "\0" ? "\ufffd" : (WINDOWS_1252[control.charCodeAt(0) - 0x80] ?? control),
  );
}
