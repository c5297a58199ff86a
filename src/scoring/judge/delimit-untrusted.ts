import { createHash } from "node:crypto";
import type { JudgeCase } from "../../domain/scores/judgement.js";

/** Characters of one text that are sent to a judge. */
const MAX_CHARS = 20_000;

/** Anything that looks like one of our marks or a system prompt, with any white space. */
const MARK = /<(?=\s*(?:\/\s*)?(question|correct_answer|given_answer|instructions?|system)\b)/gi;

/**
 * The prompt of a judge: the untrusted texts between marks that they cannot contain, then the `instruction`. Each mark
 * has a hash over all texts as its id, and what looks like a mark inside a text loses its angle bracket. Invisible
 * characters, which could hide words, are removed.
 */
export function delimitUntrusted(item: JudgeCase, instruction: string): string {
  const boundary = createHash("sha256")
    .update(JSON.stringify({ ...item }))
    .digest("hex")
    .slice(0, 16);
  const delimit = (name: string, text: string) =>
    `<${name} id="${boundary}">\n${escapeMarks(text)}\n</${name} id="${boundary}">`;
  return [
    delimit("question", item.question),
    delimit("correct_answer", item.gold),
    delimit("given_answer", item.answer),
    `End of the data marked ${boundary}. ${instruction}`,
  ].join("\n\n");
}

function escapeMarks(text: string): string {
  const truncated =
    text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)} [cut: ${text.length - MAX_CHARS} characters more]`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
  return truncated.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{DI}]/gu, "").replace(MARK, "‹");
}
