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
  const addressWords = new Set(wordsOf(addressNames(addresses).join(" ")));
  const isBeyond = (text: string) => wordsOf(text).some((word) => !addressWords.has(word) && !isInitial(word));
  // Most names are those of the addresses, which one look at all of them tells.
  return isBeyond(names.join(" ")) ? [...new Set(names)].filter(isBeyond) : [];
}

/** Returns the words of a name, folded like the words of a query. */
export function searchWords(name: string): string[] {
  return [...piecesOf(foldText(plainLetters(name)).text)].map(({ text }) => text);
}

function addressNames(addresses: readonly string[]): string[] {
  const names = new Set<string>();
  for (const address of addresses) {
    const at = address.indexOf("@");
    names.add(at === -1 ? address : address.slice(0, at));
  }
  return [...names];
}

/** `Steven J Kean` is steven.kean@. */
function isInitial(word: string): boolean {
  return word.length === 1 && word <= "z";
}

/** As many names are compared as an import reads, so without the generator of pieces. */
function wordsOf(text: string): readonly string[] {
  return foldText(text).text.match(/[a-z0-9\x80-\uffff]+/g) ?? [];
}

/** Scripts without spaces as character pairs, like the index has them. */
function tokenText(name: string): string {
  const pieces = [...piecesOf(foldText(plainLetters(name)).text)];
  return pieces.map(({ text, isUnsegmented }) => (isUnsegmented ? runTokens(text).join(" ") : text)).join(" ");
}
