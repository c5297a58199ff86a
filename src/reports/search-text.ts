import { z } from "zod";
import { POSTING_LIST_LIMIT } from "../mail/search-postings.js";
import type { ScoreExplanation } from "../mail/search-ranking.js";
import type { TermCorrection } from "../mail/search-spelling.js";
import { commandLine } from "../platform/command-line.js";
import { count, table } from "../text/format.js";
import { counted } from "./wording.js";

const hitsSchema = z.array(
  z.object({
    message_id: z.string(),
    subject: z.string().optional(),
    sender: z.string().optional(),
    date: z.string().nullish(),
    snippet: z.string(),
    match: z.string().optional(),
  }),
);

/** What email_search or search_emails found. `explanations`: of each hit, in the order of the hits. */
export function searchHits(value: unknown, explanations: readonly string[] = []): string {
  const { emails, total } = z
    .union([
      z.object({ emails: hitsSchema, total: z.number() }),
      hitsSchema.transform((emails) => ({ emails, total: emails.length })),
    ])
    .parse(value);
  if (emails.length === 0) return "No mail found.";
  const shown = emails.map((mail, i) =>
    [
      `${mail.message_id}${mail.match === undefined ? "" : `  (${mail.match.replace("_", " ")})`}`,
      ...(mail.subject === undefined
        ? []
        : [`  ${mail.date?.slice(0, 10) ?? "no date"}  ${mail.sender}  ${mail.subject}`]),
      `  ${mail.snippet}`,
      ...(explanations[i] ?? "")
        .split("\n")
        .filter(Boolean)
        .map((line) => `    ${line}`),
    ].join("\n"),
  );
  return [
    ...shown,
    `${count(emails.length)} of ${count(total)} mails. ${commandLine`art-e show '<MESSAGE-ID>'`} reads one.`,
  ].join("\n\n");
}

const two = (value: number) => value.toFixed(2);

/** The parts of a hit's score: a table of the words that the mail holds, and a line for each signal. */
export function explainedScore({ score, words, passage, signals }: ScoreExplanation): string {
  const sum = words.reduce((total, word) => total + word.score, 0);
  const held = words.filter((word) => word.score > 0);
  const missing = words.filter((word) => word.score === 0).map(({ word }) => word);
  const implied = held.filter(({ inSubject, inBody, inQuoted }) => inSubject + inBody + inQuoted === 0);
  const raised = signals.filter(({ raise }) => raise > 0);
  const factor = raised.reduce((total, { raise }) => total + raise, 1);
  const [start, end] = passage;
  return [
    `score ${two(score)} = words ${two(sum)} x signals ${two(factor)}`,
    ...(held.length === 0 ? [] : [wordTable(held)]),
    ...(implied.length === 0
      ? []
      : [`counted once for when it was sent: ${implied.map(({ word }) => word).join(", ")}`]),
    ...(missing.length === 0 ? [] : [`not found: ${missing.join(", ")}`]),
    ...(start === 0 ? [] : [`counted in characters ${count(start)} to ${count(end)} of the body, which fit best`]),
    ...raised.map(({ signal, meaning, raise }) => `+${two(raise)} ${signal}: ${meaning}`),
  ].join("\n");
}

function wordTable(words: ScoreExplanation["words"]): string {
  return table(
    ["word", "idf", "in subject", "in body", "in quoted mail", "score"],
    words.map(({ word, idf, inSubject, inBody, inQuoted, score }) => [
      word,
      two(idf),
      ...[inSubject, inBody, inQuoted].map(count),
      two(score),
    ]),
  );
}

/** A line for each word that is in no mail: what was searched for instead, and in how many mails that is. */
export function correctedWords(corrections: readonly TermCorrection[]): string {
  const lines = corrections.map(
    ({ word, taken, by, mails }) =>
      `${word}: in no mail; searched for ${takenText(taken)} (${by}), in ${mailsText(mails)}`,
  );
  return lines.join("\n");
}

function takenText(taken: string): string {
  if (taken.endsWith("*")) return `words that begin with ${taken.slice(0, -1)}`;
  return taken.includes(" ") ? `"${taken}"` : taken;
}

/** Posting lists are cut off. */
function mailsText(mails: number): string {
  if (mails >= POSTING_LIST_LIMIT) return `more than ${count(POSTING_LIST_LIMIT - 1)} mails`;
  return counted(mails, "mail");
}
