// The names by which an email is found although its text does not contain them.
import { plainLetters } from "./plain-letters.js";
import { foldText, piecesOf, runTokens } from "./tokenizer.js";

/** The names by which an email is found without its text: display names, and those in the addresses. */

/** An email to more recipients than this is not found by the names of the others. */
const MAX_NAMED_RECIPIENTS = 50;

/** The searchable names on an email: its addresses without their domains, and its display names. */
export function nameText(sender: string, recipients: readonly string[], displayNames: readonly string[] = []): string {
  const names = addressNames([sender, ...recipients.slice(0, MAX_NAMED_RECIPIENTS)]);
  return [...names, ...displayNames.map(tokenText)].join(" ");
}

/** The display names that contain a word, not only an initial, that is not in the addresses; each once. */
export function namesBeyondAddresses(names: readonly string[], addresses: readonly string[]): string[] {
  if (names.length === 0) return [];
  const addressWords = new Set<string>();
  for (const address of addresses) for (const word of wordsOfAddress(address)) addressWords.add(word);
  const isBeyond = (name: string) => wordsOfName(name).some((word) => !addressWords.has(word) && !isInitial(word));
  // Most names only repeat the addresses.
  return names.some(isBeyond) ? [...new Set(names)].filter(isBeyond) : [];
}

/** Returns the words of a name, folded like the words of a query. */
export function searchWords(name: string): string[] {
  return [...piecesOf(foldText(plainLetters(name)).text)].map(({ text }) => text);
}

function addressNames(addresses: readonly string[]): string[] {
  return [...new Set(addresses.map(localPart))];
}

function localPart(address: string): string {
  const at = address.indexOf("@");
  return at === -1 ? address : address.slice(0, at);
}

/** `Steven J Kean` is steven.kean@. */
function isInitial(word: string): boolean {
  return word.length === 1 && word <= "z";
}

const wordsOfName = cachedWords((name) => name);
const wordsOfAddress = cachedWords(localPart);

const MAX_CACHED_TEXTS = 20_000;
const MAX_CACHED_CHARS = 100;

/**
 * Returns a function that splits a part of a text into words. The same people write most mail, and splitting their
 * names for every email would take 5% of an import. The generator of pieces would be even slower.
 */
function cachedWords(partOf: (text: string) => string): (text: string) => readonly string[] {
  const cache = new Map<string, readonly string[]>();
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const words = foldText(partOf(text)).text.match(/[a-z0-9\x80-\uffff]+/g) ?? [];
    if (text.length > MAX_CACHED_CHARS) return words;
    if (cache.size === MAX_CACHED_TEXTS) cache.clear();
    cache.set(unshared(text), words);
    return words;
  };
}

/** Returns a copy that does not keep the text in memory that it was cut from. */
export function unshared(text: string): string {
  return Buffer.from(text).toString();
}

/** Scripts without spaces as character pairs, like the index has them. */
function tokenText(name: string): string {
  const pieces = [...piecesOf(foldText(plainLetters(name)).text)];
  return pieces.map(({ text, isUnsegmented }) => (isUnsegmented ? runTokens(text).join(" ") : text)).join(" ");
}
