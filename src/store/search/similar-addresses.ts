import type { Db } from "../connection/open-store.js";

/** Dice coefficient of the local parts. */
const MIN_SIMILARITY = 0.5;

/** Addresses of the corpus similar to a probably mistyped one, most similar first. */
export function nearAddresses(db: Db, given: string, limit: number): string[] {
  const [local, domain] = partsOf(given);
  if (local === "") return [];
  const localBigrams = bigramsOf(local);
  const scored: { address: string; score: number }[] = [];
  for (const address of db.prepare("SELECT address FROM addresses").pluck().iterate() as Iterable<string>) {
    const [name, at] = partsOf(address);
    const similarity = diceCoefficient(localBigrams, name);
    // The local part identifies a person; the domain is shared by a company.
    if (similarity >= MIN_SIMILARITY)
      scored.push({ address, score: similarity + (domain !== "" && at === domain ? 0.1 : 0) });
  }
  scored.sort((a, b) => b.score - a.score || (a.address < b.address ? -1 : 1));
  return scored.slice(0, limit).map(({ address }) => address);
}

/** Local part and domain; "Kay Mann" becomes kay.mann. */
function partsOf(address: string): [string, string] {
  const at = address.lastIndexOf("@");
  const name = at === -1 ? address : address.slice(0, at);
  return [name.trim().slice(0, 100).toLowerCase().replace(/\s+/g, "."), at === -1 ? "" : address.slice(at + 1)];
}

/** Character bigrams, including the word boundaries. */
function bigramsOf(word: string): Set<number> {
  const pairs = new Set<number>();
  for (let i = 0; i <= word.length; i++) pairs.add(bigramAt(word, i));
  return pairs;
}

/** As numbers, which is faster than strings: some 90,000 addresses are compared while the user waits. */
function bigramAt(word: string, i: number): number {
  const before = i === 0 ? 0 : word.charCodeAt(i - 1);
  return before * 0x10000 + (i === word.length ? 0 : word.charCodeAt(i));
}

/** Sorensen-Dice coefficient of the bigram sets; 0 early where the lengths rule a match out. */
function diceCoefficient(wanted: ReadonlySet<number>, word: string): number {
  const pairs = word.length + 1;
  if (word.length === 0 || 2 * Math.min(pairs, wanted.size) < MIN_SIMILARITY * (pairs + wanted.size)) return 0;
  let shared = 0;
  for (let i = 0; i < pairs; i++) if (wanted.has(bigramAt(word, i))) shared++;
  return Math.min(1, (2 * shared) / (pairs + wanted.size));
}
