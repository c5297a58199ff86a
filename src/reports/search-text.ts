// Search hits as terminal text, with the parts of their scores if asked.
import { z } from "zod";
import type { ScoreExplanation, TermCorrection } from "../mail/search.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import { count, counted, table } from "../text/format.js";

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

interface HitsText {
  /** One entry per hit, in the same order. */
  readonly explanations?: readonly string[];
  /** Whether the hits were listed without words, so that they match none. */
  readonly isListing?: boolean;
}

/** Formats the hits of email_search or search_emails. */
export function searchHits(value: unknown, { explanations = [], isListing = false }: HitsText = {}): string {
  const { emails, total } = z
    .union([
      z.object({ emails: hitsSchema, total: z.number() }),
      hitsSchema.transform((emails) => ({ emails, total: emails.length })),
    ])
    .parse(value);
  if (emails.length === 0) return "No emails found.";
  const lines = emails.map((mail, i) =>
    compact([
      `${mail.message_id}${isListing || mail.match === undefined ? "" : `  (${mail.match.replace("_", " ")})`}`,
      mail.subject !== undefined && `  ${mail.date?.slice(0, 10) ?? "no date"}  ${mail.sender}  ${mail.subject}`,
      `  ${mail.snippet}`,
      ...(explanations[i] ?? "")
        .split("\n")
        .filter(Boolean)
        .map((line) => `    ${line}`),
    ]).join("\n"),
  );
  return [
    ...lines,
    `${count(emails.length)} of ${counted(total, "email")}. Read one with ${commandLine`art-e show '<MESSAGE-ID>'`}.`,
  ].join("\n\n");
}

const two = (value: number) => value.toFixed(2);

/** Formats the parts of a hit's score: a table of the words in the email, and a line for the effect of its date. */
export function explainedScore({ score, words, raises }: ScoreExplanation): string {
  const sum = words.reduce((total, word) => total + word.score, 0);
  const matched = words.filter((word) => word.score > 0);
  const missing = words.filter((word) => word.score === 0).map(({ word }) => word);
  const { recency, namedMonth } = raises;
  return compact([
    `score ${two(score)} = words ${two(sum)} x recency ${two(1 + recency)} x month ${two(1 + namedMonth)}`,
    matched.length > 0 && wordTable(matched),
    missing.length > 0 && `not found: ${missing.join(", ")}`,
  ]).join("\n");
}

function wordTable(words: ScoreExplanation["words"]): string {
  return table(
    ["word", "idf", "occurrences", "score"],
    words.map(({ word, idf, occurrences, score }) => [word, two(idf), count(occurrences), two(score)]),
  );
}

/** Formats a line per misspelled word: the words that were searched for instead, and the number of emails with them. */
export function correctedWords(corrections: readonly TermCorrection[]): string {
  const lines = corrections.map(
    ({ word, taken, by, mails }) =>
      `${word}: not found; searched for ${takenText(taken)} (${by}) instead, in ${counted(mails, "email")}`,
  );
  return lines.join("\n");
}

function takenText(spelling: string): string {
  return spelling.endsWith("*") ? `words starting with ${spelling.slice(0, -1)}` : spelling;
}
