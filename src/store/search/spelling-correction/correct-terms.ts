import { isUnsegmentedAt } from "../../tokenizer/bigrams.js";
import { foldText } from "../../tokenizer/fold.js";
import type { FtsPostings, MailFilter } from "../fts-postings.js";
import { MAX_QUERY_CHARS, termExpression, tokenize } from "../fts-query.js";
import type { PostingLists } from "../posting-lists.js";
import { distinctTerms, termMatcher } from "../term-matches.js";
import type { TermCorrector } from "./term-correctors.js";

/** A word that is in no mail, and what is searched for instead. */
export interface TermCorrection {
  readonly word: string;
  /** A word as a mail has it, two that must stand together, or the beginning of words (`config*`). */
  readonly taken: string;
  /** Name of the corrector. */
  readonly by: string;
  /** Mails searched that hold it, up to `POSTING_LIST_LIMIT`. */
  readonly mails: number;
}

/** What is searched for: the text of a query and its terms, each with its posting list. */
export interface SearchedTerms {
  readonly words: string;
  readonly terms: readonly string[];
  readonly lists: PostingLists;
}

export interface CorrectedTerms extends SearchedTerms {
  readonly corrections: readonly TermCorrection[];
}

/** The mail that corrections come from. */
export interface CorrectionSource {
  /** What passes the query's filter. Only what it holds is taken, so that words of other people's mail do not show. */
  readonly searched: FtsPostings;
  readonly filter: MailFilter;
  readonly postingsFor: (filter: MailFilter) => FtsPostings;
  readonly textAt: (position: number) => string;
}

/** Shorter words have too many others near them; names of four letters gained nothing (+0.005 MRR@10, by chance). */
const MIN_LETTERS = 5;

/** More letters are no word, nor two that were joined. */
const MAX_LETTERS = 30;

/** So many words of a query are corrected. Each takes some 450 lookups in the index: 1 to 3 ms. */
const MAX_CORRECTIONS = 4;

/** So many proposed words are looked up in so many mails each, as forms of a word are told apart by their text. */
const MAX_VERIFIED = 3;

const ALL_MAIL: MailFilter = {
  inboxId: null,
  fromIds: null,
  toIds: null,
  range: { first: 0, last: Number.MAX_SAFE_INTEGER },
};

/**
 * Replaces words that no mail of the mailbox holds by similar ones that mails searched hold; of several, by the one in
 * most mails. Where there is none, and all other words, stay as they are; a query without such words costs nothing.
 */
export function correctTerms(
  query: SearchedTerms,
  correctors: readonly TermCorrector[],
  source: CorrectionSource,
): CorrectedTerms {
  const { words, terms, lists } = query;
  const absent = terms.filter((term, i) => lists[i]?.length === 0 && isCorrectable(term));
  if (correctors.length === 0 || absent.length === 0) return { ...query, corrections: [] };
  const { inboxId, range } = source.filter;
  // Whoever wrote it, and from when on.
  const mailbox = source.postingsFor({ ...ALL_MAIL, inboxId, range: { ...ALL_MAIL.range, first: range.first } });
  const unknown = absent.filter((term) => mailbox.postingsOf(term).length === 0).slice(0, MAX_CORRECTIONS);
  const tokens = tokenize(words.slice(0, MAX_QUERY_CHARS));
  const corrected = { terms: [...terms], lists: [...lists], corrections: [] as TermCorrection[] };
  for (const word of unknown) {
    const found = firstFound(word, tokens, correctors, source);
    if (found === null || isAmong(corrected.terms, found.taken)) continue;
    const index = terms.indexOf(word);
    corrected.terms[index] = found.taken;
    corrected.lists[index] = found.list;
    corrected.corrections.push({ word, taken: found.taken, by: found.by, mails: found.list.length });
  }
  return { words: replaceWords(words, corrected.corrections), ...corrected };
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
  tokens: readonly string[],
  correctors: readonly TermCorrector[],
  { searched, postingsFor, textAt }: CorrectionSource,
): { readonly taken: string; readonly by: string; readonly list: readonly number[] } | null {
  const all = postingsFor(ALL_MAIL);
  // Most that is proposed is in no mail at all, which takes half the time to see without the filter.
  const isIndexed = (term: string) => all.newestMatching(termExpression(term), ALL_MAIL.range, 1).length > 0;
  for (const { name, candidates } of correctors) {
    const proposed = new Set(candidates(word, tokens));
    const found = [...proposed]
      .filter(isIndexed)
      .map((term) => ({ term, list: searched.postingsOf(term) }))
      .filter(({ list }) => list.length > 0)
      .sort((a, b) => b.list.length - a.list.length);
    for (const { term, list } of found.slice(0, MAX_VERIFIED)) {
      const taken = asWritten(term, proposed, list.slice(0, MAX_VERIFIED).map(textAt));
      if (taken !== null) return { taken, by: name, list };
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
