// Marks texts in a prompt that the model sees but must not obey, such as mail and replies of other models.
import { sha256Of } from "../platform/sha256.js";

/** Text that a model sees but must not obey. `name` appears in the marks around the text. */
export interface UntrustedText {
  readonly name: string;
  readonly text: string;
}

/** Maximum characters sent per text. */
const MAX_CHARS = 20_000;

/**
 * Builds a prompt from untrusted texts between marks, followed by the `instruction`. Texts cannot forge the marks: each
 * mark's ID is a hash over all texts, and the angle bracket of anything in a text that looks like a mark or system
 * prompt is replaced. Invisible characters are removed, because they could hide words.
 */
export function delimitUntrusted(texts: readonly UntrustedText[], instruction: string): string {
  const boundary = sha256Of(JSON.stringify(texts)).slice(0, 16);
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
