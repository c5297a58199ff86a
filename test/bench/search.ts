import Database from "better-sqlite3";
import { openMails } from "../../src/store/mails.js";
import { type Db, openStore } from "../../src/store/open.js";
import { openAddressBook } from "../../src/store/parties.js";
import { type MailQuery, openMailSearch } from "../../src/store/search.js";
import { openNaiveSearch } from "./naive-search.js";
import { type Quantiles, quantiles } from "./quantiles.js";
import { below, seeded } from "./random.js";

export interface SearchLine {
  readonly what: string;
  readonly ours: Quantiles;
  readonly naive: Quantiles;
  /** Our p99 over the naive one. */
  readonly p99Ratio: number;
}

interface Owner {
  readonly folder: string;
  readonly address: string;
}

const QUERIES = 300;
/** The naive search takes long over a whole question. */
const QUESTIONS = 100;

/**
 * Both searches over the same mail, warm: each query is asked once unmeasured. Words are drawn from the text of a mail of the
 * mailbox, so that common ones come as often as they stand there.
 */
export function benchSearch(files: { ours: string; naive: string }): SearchLine[] {
  const db = openStore(files.ours, { mustExist: true });
  const naiveDb = new Database(files.naive, { readonly: true });
  naiveDb.pragma("cache_size = -65536");
  naiveDb.pragma("mmap_size = 2147483648");
  const search = openMailSearch(db);
  const mails = openMails(db);
  const book = openAddressBook(db);
  const naive = openNaiveSearch(naiveDb);
  const random = seeded(7);
  const bodyAt = db
    .prepare("SELECT m.body FROM mail_order o JOIN mails m ON m.id = o.mail_id WHERE o.position = ?")
    .pluck();
  const total = db.prepare("SELECT count(*) FROM mail_order").pluck().get() as number;
  const words = (count: number): string[] => {
    for (;;) {
      const all = (bodyAt.get(1 + below(random, total)) as string).split(/[^a-z0-9]+/).filter((word) => word !== "");
      if (all.length >= 20) return Array.from({ length: count }, () => all[below(random, all.length)] ?? "");
    }
  };
  const query = (text: readonly string[], owner: Owner): MailQuery => ({
    words: text.join(" "),
    inboxId: book.idOf(owner.address),
    fromIds: null,
    toIds: null,
    period: { after: null, before: null },
    limit: 10,
  });
  const owners = ownersOf(db);
  const anyOwner = () => owners[below(random, owners.length)] as Owner;
  const few = Array.from({ length: QUERIES }, () => ({ text: words(2 + below(random, 2)), owner: anyOwner() }));
  const [largest] = owners;
  if (largest === undefined) throw new Error("the mail has no owners to search for");
  const questions = Array.from({ length: QUESTIONS }, () => ({ text: words(8), owner: largest }));
  const ids = db.prepare("SELECT message_id FROM messages ORDER BY random() LIMIT 2000").pluck().all() as string[];
  const inLargest = db
    .prepare("SELECT count(*) FROM emails_fts WHERE emails_fts MATCH ?")
    .pluck()
    .get(`parties : in${book.idOf(largest.address)}`) as number;

  const lines = [
    compare(
      "all words, newest first",
      few,
      ({ text, owner }) => search.newestFirst(query(text, owner)),
      ({ text, owner }) => naive.newest(text, owner.address),
    ),
    compare(
      "all words, best first",
      few,
      ({ text, owner }) => search.bestFirst(query(text, owner)),
      ({ text, owner }) => naive.best(text, owner.folder),
    ),
    compare(
      `eight words, best match, ${inLargest.toLocaleString("en-US")} mails`,
      questions,
      ({ text, owner }) => search.bestFirst(query(text, owner)),
      ({ text, owner }) => naive.any(text, owner.folder),
    ),
    compare("email_get", ids, (id) => mails.get(id), naive.get),
  ];
  db.close();
  naiveDb.close();
  return lines;
}

/** Owners with an address, whose folders hold most first. */
function ownersOf(db: Db): Owner[] {
  return db
    .prepare(
      `SELECT w.folder, w.address FROM owners w JOIN filings f ON f.owner_id = w.id
       WHERE w.address IS NOT NULL GROUP BY w.id ORDER BY count(*) DESC, w.folder`,
    )
    .all() as Owner[];
}

function compare<T>(
  what: string,
  asked: readonly T[],
  ours: (query: T) => unknown,
  naive: (query: T) => unknown,
): SearchLine {
  const [a, b] = [latencies(asked, ours), latencies(asked, naive)];
  return { what, ours: a, naive: b, p99Ratio: a.p99 / b.p99 };
}

function latencies<T>(asked: readonly T[], answer: (query: T) => unknown): Quantiles {
  for (const query of asked) answer(query);
  return quantiles(
    asked.map((query) => {
      const started = performance.now();
      answer(query);
      return performance.now() - started;
    }),
  );
}
