// The addresses and names in the imported mail, to resolve a person's name and to suggest similar addresses.
import { type Db, withTickTransaction } from "../store/open-store.js";
import { searchWords } from "../text/searchable-names.js";

/** Filters that match more addresses are rejected as too broad. */
const MAX_FILTER_ADDRESSES = 200;

type AddressMatch =
  | { readonly found: "some"; readonly ids: readonly number[] }
  | { readonly found: "none" }
  | { readonly found: "too_many"; readonly count: number };

export interface AddressBook {
  idOf(address: string): number | null;
  /**
   * Returns the address itself if the corpus contains it. Otherwise returns all addresses that contain the text at the
   * start of a word, or whose own words and one of their names start with all of its words. A complete match needs an
   * address with exactly these words, or one of its names. `Name <address>` stands for the address.
   */
  matching(text: string, how?: "start" | "complete"): AddressMatch;
  /** Returns the addresses in a mailbox's mail before a time that are most similar to a text, by address or name. */
  nearest(text: string, mailbox: { readonly inboxId: number; readonly before: string | null }): string[];
}

type AddressRow = readonly [id: number, address: string, names: string | null];

const ADDRESS_SQL = {
  matching: `SELECT a.id, a.address, (SELECT group_concat(n.name, char(10)) FROM address_names n WHERE n.address = a.address)
             FROM addresses a WHERE instr(a.address, ?) > 0
               OR a.address IN (SELECT address FROM address_names WHERE instr(name, ?) > 0)`,
  inMailbox: `WITH mine AS (SELECT m.sender, m.recipients FROM mailboxes b JOIN mail_order o USING (position)
                            JOIN mails m ON m.id = o.mail_id
                            WHERE b.address_id = ? AND (? IS NULL OR o.date < ?))
              SELECT sender FROM mine UNION SELECT r.value FROM mine, json_each(mine.recipients) r`,
  names: "SELECT name FROM address_names WHERE address = ?",
} as const;

const MAX_NEAREST = 3;

export function openAddressBook(db: Db): AddressBook {
  const exact = db.prepare("SELECT id FROM addresses WHERE address = ?").pluck();
  const candidates = db.prepare(ADDRESS_SQL.matching).raw();
  const inTickTransaction = withTickTransaction(db);
  const idOf = (address: string) =>
    (inTickTransaction(() => exact.get(address.trim().toLowerCase())) as number | undefined) ?? null;
  return {
    idOf,
    matching(text, how = "start") {
      const wanted = /<\s*([^<>\s]+@[^<>\s]+)\s*>/.exec(text)?.[1] ?? text;
      const id = idOf(wanted);
      if (id !== null) return { found: "some", ids: [id] };
      const part = wanted.trim().toLowerCase();
      // An address or a part of one, with its punctuation, or words of a name.
      const words = /^[\p{L}\p{M}\p{N}\s,]+$/u.test(part) ? searchWords(part) : [part];
      const longest = words.toSorted((a, b) => b.length - a.length)[0] ?? "";
      if (longest === "") return { found: "none" };
      const rows = inTickTransaction(() => candidates.all(longest, longest)) as AddressRow[];
      const fits = how === "start" ? matchesStart : matchesName;
      const ids = rows.filter((row) => fits(row, words)).map(([each]) => each);
      if (ids.length === 0) return { found: "none" };
      if (ids.length > MAX_FILTER_ADDRESSES) return { found: "too_many", count: MAX_FILTER_ADDRESSES + 1 };
      return { found: "some", ids };
    },
    nearest(text, { inboxId, before }) {
      const addresses = db.prepare(ADDRESS_SQL.inMailbox).pluck().all(inboxId, before, before) as string[];
      const names = db.prepare(ADDRESS_SQL.names).pluck();
      const byName = new Map<string, string>();
      for (const address of addresses) {
        for (const name of names.all(address) as string[]) byName.set(name.replaceAll(" ", "."), address);
      }
      const similar = similarAddresses([...addresses, ...byName.keys()], searchableText(text), MAX_NEAREST);
      return [...new Set(similar.map((each) => byName.get(each) ?? each))];
    },
  };
}

/** Whether all words start a word of the address or of one of its names. */
function matchesStart([, address, names]: AddressRow, words: readonly string[]): boolean {
  const texts = names === null ? [address] : [address, ...names.split("\n").map((name) => `${address} ${name}`)];
  return texts.some((text) => words.every((word) => startsWord(text, word)));
}

/** Whether the words are those of the address before the `@`, or of one of its names, in any order. */
function matchesName([, address, names]: AddressRow, words: readonly string[]): boolean {
  const wanted = words.toSorted().join(" ");
  const texts = [address.replace(/@.*/, ""), ...(names?.split("\n") ?? [])];
  return texts.some((text) => searchWords(text).sort().join(" ") === wanted);
}

function startsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/^[\p{L}\p{N}]/u.test(word) || !/[\p{L}\p{N}]/u.test(text[at - 1] as string)) return true;
  }
  return false;
}

function searchableText(text: string): string {
  return text.includes("@") ? text.trim().toLowerCase() : searchWords(text).join(" ");
}

/** Minimum Dice coefficient of the local parts (0 to 1). */
const MIN_SIMILARITY = 0.5;

/** Returns addresses similar to a probably mistyped one, most similar first. */
export function similarAddresses(addresses: Iterable<string>, query: string, limit: number): string[] {
  const [local, domain] = partsOf(query);
  if (local === "") return [];
  const localBigrams = bigramsOf(local);
  const scored: { address: string; score: number }[] = [];
  for (const address of addresses) {
    const [name, at] = partsOf(address);
    const similarity = diceCoefficient(localBigrams, name);
    // The local part identifies a person, while an entire company shares the domain.
    if (similarity >= MIN_SIMILARITY)
      scored.push({ address, score: similarity + (domain !== "" && at === domain ? 0.1 : 0) });
  }
  scored.sort((a, b) => b.score - a.score || (a.address < b.address ? -1 : 1));
  return scored.slice(0, limit).map(({ address }) => address);
}

/** Returns the local part and the domain. "Kay Mann" becomes kay.mann. */
function partsOf(address: string): [string, string] {
  const at = address.lastIndexOf("@");
  const name = at === -1 ? address : address.slice(0, at);
  return [name.trim().slice(0, 100).toLowerCase().replace(/\s+/g, "."), at === -1 ? "" : address.slice(at + 1)];
}

/** Returns the character bigrams, including the word boundaries. */
function bigramsOf(word: string): Set<number> {
  const pairs = new Set<number>();
  for (let i = 0; i <= word.length; i++) pairs.add(bigramAt(word, i));
  return pairs;
}

/**
 * Returns a bigram as a number, which is faster than a string: about 90,000 addresses are compared while the user
 * waits.
 */
function bigramAt(word: string, i: number): number {
  const before = i === 0 ? 0 : word.charCodeAt(i - 1);
  return before * 0x10000 + (i === word.length ? 0 : word.charCodeAt(i));
}

/** Returns the Sorensen-Dice coefficient of the bigram sets, or 0 without comparing if the lengths rule out a match. */
function diceCoefficient(bigrams: ReadonlySet<number>, word: string): number {
  const pairs = word.length + 1;
  if (word.length === 0 || 2 * Math.min(pairs, bigrams.size) < MIN_SIMILARITY * (pairs + bigrams.size)) return 0;
  let shared = 0;
  for (let i = 0; i < pairs; i++) if (bigrams.has(bigramAt(word, i))) shared++;
  return Math.min(1, (2 * shared) / (pairs + bigrams.size));
}
