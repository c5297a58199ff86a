import { openAddressBook } from "../../src/mail/address-book.js";
import { updateFingerprint } from "../../src/mail/corpus.js";
import type { FiledEmail } from "../../src/mail/email.js";
import { rebuildCorpusIndex } from "../../src/mail/import/corpus-index.js";
import { type InsertOutcome, openCorpusWriter } from "../../src/mail/import/corpus-writer.js";
import { toStorableMail } from "../../src/mail/import/storable-mail.js";
import { listOwners, setOwnerAddress } from "../../src/mail/owners.js";
import type { MailHit, MailQuery, MailSearch } from "../../src/mail/search.js";
import { type Db, openStore } from "../../src/store/open-store.js";

/** Small corpora, made with the store functions that an import uses. */

export const ANN = "ann@plains.example";
export const BEN = "ben@plains.example";
export const CAT = "cat@plains.example";
export const DAN = "dan@hills.example";

const ALWAYS = { after: null, before: null };

/** An empty email from Ann to Ben. Two of these without changes are copies of one email. */
export function mail(id: string, changes: Partial<FiledEmail> = {}): FiledEmail {
  return {
    messageId: `<${id}@plains.example>`,
    subject: "",
    sender: ANN,
    to: [BEN],
    cc: [],
    bcc: [],
    date: "2001-05-14T10:00:00Z",
    body: "",
    path: "",
    owner: null,
    inbox: null,
    form: "maildir",
    ...changes,
  };
}

/** Stores emails like an import. `owners` maps folders to addresses. */
export function fill(
  db: Db,
  mails: readonly FiledEmail[],
  owners: Readonly<Record<string, string>> = {},
): InsertOutcome[] {
  return db
    .transaction(() => {
      const writer = openCorpusWriter(db, { source: "made for a test", format: "maildir", filter: "none" });
      const outcomes = mails.map((email) => writer.add(toStorableMail(email, null)));
      for (const { id, folder } of listOwners(db)) {
        const address = owners[folder];
        if (address !== undefined) setOwnerAddress(db, id, address, "map");
      }
      rebuildCorpusIndex(db, () => {});
      updateFingerprint(db);
      return outcomes;
    })
    .immediate();
}

export function openCorpus(
  mails: readonly FiledEmail[],
  owners: Readonly<Record<string, string>> = {},
  path = ":memory:",
): Db {
  const db = openStore(path, { mustExist: false });
  fill(db, mails, owners);
  return db;
}

export function addressId(db: Db, address: string): number {
  const id = openAddressBook(db).idOf(address);
  if (id === null) throw new Error(`no address ${address}`);
  return id;
}

/** A query over all mailboxes and dates. */
export function query(words: string, changes: Partial<MailQuery> = {}): MailQuery {
  return { words, inboxId: null, fromIds: null, toIds: null, period: ALWAYS, limit: 10, askedAt: null, ...changes };
}

/** The emails with every content word of a query, newest first, for any limit. */
export function withAllWords(search: MailSearch, asked: MailQuery): MailHit[] {
  const { hits } = search.bestFirst({ ...asked, limit: 1_000 });
  const dateOf = (hit: MailHit) => hit.date ?? "";
  return hits
    .filter(({ match }) => match === "all_words")
    .sort((a, b) => (dateOf(a) === dateOf(b) ? 0 : dateOf(a) > dateOf(b) ? -1 : 1));
}

/** The ids given to `mail`. */
export const idsOf = (hits: readonly { readonly messageId: string }[]) =>
  hits.map(({ messageId }) => messageId.replace(/^<|@plains\.example>$/g, ""));
