import { createHash } from "node:crypto";

/** A text that a model is shown and must not obey; `name` is the mark it stands between. */
export interface UntrustedText {
  readonly name: string;
  readonly text: string;
}

/** Characters of one text that are sent. */
const MAX_CHARS = 20_000;

/**
 * A prompt: untrusted texts between marks that they cannot contain, then the `instruction`. Each mark has a hash over
 * all texts as its id, and what looks like a mark or a system prompt inside a text loses its angle bracket. Invisible
 * characters, which could hide words, are removed.
 */
export function delimitUntrusted(texts: readonly UntrustedText[], instruction: string): string {
  const boundary = createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
  const names = [...new Set(texts.map(({ name }) => name)), "instructions?", "system"];
  const mark = new RegExp(`<(?=\\s*(?:/\\s*)?(${names.join("|")})\\b)`, "gi");
  return [
    ...texts.map(
      ({ name, text }) => `<${name} id="${boundary}">\n${escapeMarks(text, mark)}\n</${name} id="${boundary}">`,
    ),
    `End of the data marked ${boundary}. ${instruction}`,
  ].join("\n\n");
}

function escapeMarks(text: string, mark: RegExp): string {
  const truncated =
    text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)} [cut: ${text.length - MAX_CHARS} characters more]`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
  return truncated.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{DI}]/gu, "").replace(mark, "‹");
}
