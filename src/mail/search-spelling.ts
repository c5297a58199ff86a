import { stemOf } from "../text/porter.js";
import { foldText, isUnsegmentedAt } from "../text/tokenizer.js";
import { distinctTerms, termMatcher } from "./search-matches.js";

/** A word that is in no mail, and what is searched for instead. */
export interface TermCorrection {
  readonly word: string;
  /** A word as an email has it, or the beginning of words (`config*`). */
  readonly taken: string;
  readonly by: string;
  /** Number of searched emails that contain it. */
  readonly mails: number;
}

/** The text of a query and its terms. */
export interface CorrectedTerms {
  readonly words: string;
  readonly terms: readonly string[];
  readonly corrections: readonly TermCorrection[];
}

/** The mail that corrections come from. */
interface CorrectionSource {
  /** Whether the mailbox contains a term before the end of the period, whoever wrote it. */
  readonly isKnown: (term: string) => boolean;
  /** Positions of the searched emails that contain a term. Only their words are proposed, never those of other mail. */
  readonly mailsWith: (term: string) => readonly number[];
  /** Whether any email of the file contains a term, which is faster. */
  readonly isIndexed: (term: string) => boolean;
  readonly textAt: (position: number) => string;
}

/** Shorter words have too many others near them; names of four letters gained nothing (+0.005 MRR@10, by chance). */
const MIN_LETTERS = 5;

/** Longer sequences of letters are not words. */
const MAX_LETTERS = 30;

/** So many words of a query are corrected. Each takes some 450 lookups in the index: 1 to 3 ms. */
const MAX_CORRECTIONS = 4;

/** So many proposed words are looked up in so many mails each, as forms of a word are told apart by their text. */
const MAX_VERIFIED = 3;

/**
 * Replaces words that no mail of the mailbox holds by similar ones that mails searched hold; of several, by the one in
 * most mails. Where there is none, and all other words, stay as they are; a query without such words costs nothing.
 */
export function correctTerms(
  words: string,
  terms: readonly string[],
  correctors: readonly TermCorrector[],
  source: CorrectionSource,
): CorrectedTerms {
  if (correctors.length === 0) return { words, terms, corrections: [] };
  const unknown = terms
    .filter((term) => isCorrectable(term) && source.mailsWith(term).length === 0 && !source.isKnown(term))
    .slice(0, MAX_CORRECTIONS);
  if (unknown.length === 0) return { words, terms, corrections: [] };
  const corrected = [...terms];
  const corrections: TermCorrection[] = [];
  for (const word of unknown) {
    const found = firstFound(word, correctors, source);
    if (found === null || isAmong(corrected, found.taken)) continue;
    corrected[terms.indexOf(word)] = found.taken;
    corrections.push({ word, ...found });
  }
  return { words: replaceWords(words, corrections), terms: corrected, corrections };
}

/** A word of letters: of numbers and part numbers each digit counts. */
function isCorrectable(term: string): boolean {
  const { length } = [...term];
  return length >= MIN_LETTERS && length <= MAX_LETTERS && /^\p{L}+$/u.test(term) && !isUnsegmentedAt(term, 0);
}

/** Whether a term of the query would count twice. */
function isAmong(terms: readonly string[], taken: string): boolean {
  if (taken.endsWith("*"))
    return terms.some((term) => term.length >= taken.length && term.startsWith(taken.slice(0, -1)));
  return distinctTerms([...terms, taken]).length === terms.length;
}

/** What the first corrector takes that finds any mail: the commonest of what it proposes. Null: none does. */
function firstFound(
  word: string,
  correctors: readonly TermCorrector[],
  { isIndexed, mailsWith, textAt }: CorrectionSource,
): Omit<TermCorrection, "word"> | null {
  for (const { name, candidates } of correctors) {
    const proposed = new Set(candidates(word));
    const found = [...proposed]
      .filter(isIndexed)
      .map((term) => ({ term, mails: mailsWith(term) }))
      .filter(({ mails }) => mails.length > 0)
      .sort((a, b) => b.mails.length - a.mails.length);
    for (const { term, mails } of found.slice(0, MAX_VERIFIED)) {
      const taken = asWritten(term, proposed, mails.slice(0, MAX_VERIFIED).map(textAt));
      if (taken !== null) return { taken, by: name, mails: mails.length };
    }
  }
  return null;
}

/**
 * A word as it stands in texts that hold it in some form. The index knows stems only, and "online" is a letter away
 * from a word with the stem of "only". Null: in no form that was proposed.
 */
function asWritten(term: string, proposed: ReadonlySet<string>, texts: readonly string[]): string | null {
  if (!/^\p{L}+$/u.test(term)) return term;
  const find = termMatcher([term]);
  const forms = texts.flatMap((text) => find(text).map(({ start, end }) => foldText(text.slice(start, end)).text));
  return forms.find((form) => proposed.has(form)) ?? null;
}

/** The text of a query with words in place of words, as the ranking signals read names and months in it. */
function replaceWords(text: string, corrections: readonly TermCorrection[]): string {
  const takenFor = new Map(corrections.map(({ word, taken }) => [word, taken]));
  return text.replace(/\p{L}+/gu, (word) => takenFor.get(foldText(word).text) ?? word);
}

/** Letters to put into a word, of the script that its first letter belongs to, as the index folds them. */
const ALPHABETS = ["abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω"];

/**
 * The words at Damerau-Levenshtein distance 1 of a folded word: one letter left out, put in or changed, or two
 * neighbours swapped. Of scripts with other alphabets only what can be made of its own letters.
 */
export function editVariants(word: string): string[] {
  const letters = [...word];
  const alphabet = [...(ALPHABETS.find((one) => one.includes(letters[0] ?? "")) ?? "")];
  const variants = new Set<string>();
  for (let i = 0; i <= letters.length; i++) {
    const before = letters.slice(0, i).join("");
    const [letter = "", next = ""] = letters.slice(i);
    const after = letters.slice(i + 1).join("");
    if (i < letters.length) variants.add(before + after);
    if (i + 1 < letters.length) variants.add(before + next + letter + letters.slice(i + 2).join(""));
    for (const other of alphabet) {
      if (i < letters.length) variants.add(before + other + after);
      variants.add(before + other + letter + after);
    }
  }
  variants.delete(word);
  return [...variants];
}

/** Proposes what may be meant by a word that is in no mail. */
interface TermCorrector {
  readonly name: string;
  /** Terms (`termExpression`) to look up. */
  readonly candidates: (word: string) => readonly string[];
}

/** Letters of a word whose spelling is corrected: it takes 53 lookups for each. */
const MAX_EDITED = 20;

/** The first that finds any email is used. Beginnings have all letters that were typed, so they come first. */
export const TERM_CORRECTORS: readonly TermCorrector[] = [
  { name: "prefix", candidates: prefixOf },
  { name: "spelling", candidates: nearWords },
];

/** `config` for "configuration". The index holds stems, so that a word with another stem begins none of them. */
function prefixOf(word: string): string[] {
  return stemOf(word) === word ? [`${word}*`] : [];
}

/** `hanevold` for "hanvold". */
function nearWords(word: string): string[] {
  return [...word].length > MAX_EDITED ? [] : editVariants(word);
}
