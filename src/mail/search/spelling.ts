// Replaces query words that occur in no email with similar ones that do.
import { stemOf } from "../../text/porter.js";
import { foldText, isUnsegmentedAt } from "../../text/tokenizer.js";
import { distinctTerms, termMatcher } from "./matches.js";

/** A query word that occurs in no email, and its replacement in the search. */
export interface TermCorrection {
  readonly word: string;
  /** The replacement: a word as written in an email, or a prefix (`config*`). */
  readonly taken: string;
  readonly by: string;
  /** Number of searched emails that contain the replacement. */
  readonly mails: number;
}

/** The text of a query and its terms. */
interface CorrectedTerms {
  readonly words: string;
  readonly terms: readonly string[];
  readonly corrections: readonly TermCorrection[];
}

interface CorrectionSource {
  /** Whether any email in the mailbox before the end of the period contains a term, regardless of sender. */
  readonly isKnown: (term: string) => boolean;
  /** Positions of the searched emails that contain a term. Corrections come only from these emails. */
  readonly mailsWith: (term: string) => readonly number[];
  /** Whether any email in the database contains a term. Faster than `mailsWith`. */
  readonly isIndexed: (term: string) => boolean;
  readonly textAt: (position: number) => string;
}

/** Proposes replacements for a word that occurs in no email. */
interface TermCorrector {
  readonly name: string;
  /** Terms (`termExpression`) to look up. */
  readonly candidates: (word: string) => readonly string[];
}

/**
 * Shorter words have too many similar words. Correcting four-letter names gained nothing significant (+0.005 MRR@10).
 */
const MIN_LETTERS = 5;

/** Longer sequences of letters are not words. */
const MAX_LETTERS = 30;

/** Maximum number of corrected words per query. Each takes about 450 index lookups (1 to 3 ms). */
const MAX_CORRECTIONS = 4;

/**
 * Maximum number of candidates to verify, and of emails to read per candidate. The index contains only stems, so the
 * text shows which form of the word occurs.
 */
const MAX_VERIFIED = 3;

/**
 * Replaces words that do not occur in the mailbox with similar words from the searched emails. If there are several
 * candidates, the word that occurs in the most emails is used. All other words are unchanged, and a query without
 * unknown words costs nothing.
 */
export function correctTerms(
  words: string,
  terms: readonly string[],
  correctors: readonly TermCorrector[],
  source: CorrectionSource,
): CorrectedTerms {
  if (correctors.length === 0) return { words, terms, corrections: [] };
  const unknown = terms.filter((term) => isCorrectable(term) && !source.isKnown(term)).slice(0, MAX_CORRECTIONS);
  if (unknown.length === 0) return { words, terms, corrections: [] };
  const corrected = [...terms];
  const corrections: TermCorrection[] = [];
  for (const word of unknown) {
    const correction = firstFound(word, correctors, source);
    if (correction === null || isAmong(corrected, correction.taken)) continue;
    corrected[terms.indexOf(word)] = correction.taken;
    corrections.push({ word, ...correction });
  }
  return { words: replaceWords(words, corrections), terms: corrected, corrections };
}

/** Numbers and part numbers are not corrected, because every digit matters. */
function isCorrectable(term: string): boolean {
  const { length } = [...term];
  return length >= MIN_LETTERS && length <= MAX_LETTERS && /^\p{L}+$/u.test(term) && !isUnsegmentedAt(term, 0);
}

/** Whether adding the replacement would count a query term twice. */
function isAmong(terms: readonly string[], spelling: string): boolean {
  if (spelling.endsWith("*"))
    return terms.some((term) => term.length >= spelling.length && term.startsWith(spelling.slice(0, -1)));
  return distinctTerms([...terms, spelling]).length === terms.length;
}

/** The most frequent candidate of the first corrector that finds any emails, or null if no corrector does. */
function firstFound(
  word: string,
  correctors: readonly TermCorrector[],
  { isIndexed, mailsWith, textAt }: CorrectionSource,
): Omit<TermCorrection, "word"> | null {
  for (const { name, candidates } of correctors) {
    const proposed = new Set(candidates(word));
    const ranked = [...proposed]
      .filter(isIndexed)
      .map((term) => ({ term, mails: mailsWith(term) }))
      .filter(({ mails }) => mails.length > 0)
      .sort((a, b) => b.mails.length - a.mails.length);
    for (const { term, mails } of ranked.slice(0, MAX_VERIFIED)) {
      const spelling = asWritten(term, proposed, mails.slice(0, MAX_VERIFIED).map(textAt));
      if (spelling !== null) return { taken: spelling, by: name, mails: mails.length };
    }
  }
  return null;
}

/**
 * Returns the form of a stemmed match as written in the texts, or null if none of the forms was proposed. The index
 * contains only stems, and "online" is one letter away from a word with the stem of "only".
 */
function asWritten(term: string, proposed: ReadonlySet<string>, texts: readonly string[]): string | null {
  if (!/^\p{L}+$/u.test(term)) return term;
  const find = termMatcher([term]);
  const forms = texts.flatMap((text) => find(text).map(({ start, end }) => foldText(text.slice(start, end)).text));
  return forms.find((form) => proposed.has(form)) ?? null;
}

/** Applies the corrections to the query text, because the ranking signals search it for names and months. */
function replaceWords(text: string, corrections: readonly TermCorrection[]): string {
  const takenFor = new Map(corrections.map(({ word, taken }) => [word, taken]));
  return text.replace(/\p{L}+/gu, (word) => takenFor.get(foldText(word).text) ?? word);
}

/**
 * Alphabets from which letters are inserted, folded like the index. The first letter of a word determines the alphabet.
 */
const ALPHABETS = ["abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω"];

/**
 * Returns the words at Damerau-Levenshtein distance 1 from a folded word: one letter deleted, inserted or replaced, or
 * two neighbors swapped. For scripts not in `ALPHABETS`, only deletions and swaps are possible.
 */
export function editVariants(word: string): string[] {
  const letters = [...word];
  const alphabet = [...(ALPHABETS.find((one) => one.includes(letters[0] ?? "")) ?? "")];
  const variants = new Set<string>();
  // After the last letter, a deletion, a swap and a replacement are the word itself or an insertion.
  for (let i = 0; i <= letters.length; i++) {
    const before = letters.slice(0, i).join("");
    const [letter = "", next = ""] = letters.slice(i);
    const after = letters.slice(i + 1).join("");
    variants.add(before + after);
    variants.add(before + next + letter + letters.slice(i + 2).join(""));
    for (const other of alphabet) {
      variants.add(before + other + after);
      variants.add(before + other + letter + after);
    }
  }
  variants.delete(word);
  return [...variants];
}

/** Maximum length for spelling correction, which takes 53 lookups per letter. */
const MAX_EDITED = 20;

/** The first corrector that finds any email is used. Prefixes come first, because they keep all typed letters. */
export const TERM_CORRECTORS: readonly TermCorrector[] = [
  { name: "prefix", candidates: prefixOf },
  { name: "spelling", candidates: nearWords },
];

/**
 * Finds "configuration" for `config`. The index contains stems, so a word with a different stem is not a prefix of any.
 */
function prefixOf(word: string): string[] {
  return stemOf(word) === word ? [`${word}*`] : [];
}

/** Finds `hanevold` for "hanvold". */
function nearWords(word: string): string[] {
  return [...word].length > MAX_EDITED ? [] : editVariants(word);
}
