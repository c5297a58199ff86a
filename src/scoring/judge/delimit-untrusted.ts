import { createHash } from "node:crypto";
import type { JudgeCase } from "../../domain/scores/judgement.js";

/** Characters of one text that are shown to a judge. */
const LONGEST = 20_000;

/** Anything that looks like one of our marks, whatever stands round it. */
const MARK = /<(?=\s*(?:\/\s*)?(question|correct_answer|given_answer|instructions?|system)\b)/gi;

/**
 * What a judge is shown: the texts, which nobody vouches for, between marks that they cannot hold, and then what it is `asked`. Each mark bears a hash
 * over all of them, and what looks like a mark within a text loses its angle bracket. Invisible characters that could hide words are dropped.
 */
export function shownToJudge(item: JudgeCase, asked: string): string {
  const boundary = createHash("sha256")
    .update(JSON.stringify({ ...item }))
    .digest("hex")
    .slice(0, 16);
  const delimitUntrusted = (name: string, text: string) =>
    `<${name} id="${boundary}">\n${harmless(text)}\n</${name} id="${boundary}">`;
  return [
    delimitUntrusted("question", item.question),
    delimitUntrusted("correct_answer", item.gold),
    delimitUntrusted("given_answer", item.answer),
    `End of the data marked ${boundary}. ${asked}`,
  ].join("\n\n");
}

function harmless(text: string): string {
  const shown =
    text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} [cut: ${text.length - LONGEST} characters more]`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return shown.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{DI}]/gu, "").replace(MARK, "‹");
}
