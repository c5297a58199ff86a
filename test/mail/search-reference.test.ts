import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { FiledEmail } from "../../src/mail/email.js";
import { type MailHit, type MailQuery, openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { anyQuery, FOLDERS, randomMails, STOP } from "./random-corpus.js";
import { type PlainMail, type PlainQuery, referenceSearch } from "./search-reference.js";
import { ANN, addressId, BEN, CAT, fill, mail, openCorpus, withAllWords } from "./small-corpus.js";

const SEED = 20_010_514;
const RUNS = 200;

const open: Db[] = [];
afterAll(() => {
  for (const db of open) db.close();
});

/** The corpus for both searches. */
function corpusOf(mails: readonly FiledEmail[]) {
  const db = openCorpus(mails, FOLDERS);
  open.push(db);
  // The reference does not correct words.
  const search = openMailSearch(db, []);
  const id = (address: string) => addressId(db, address);
  const toQuery = ({ words, inbox, from, to, after, before, limit }: PlainQuery): MailQuery => ({
    words,
    inboxId: inbox === null ? null : id(inbox),
    fromIds: from?.map(id) ?? null,
    toIds: to?.map(id) ?? null,
    period: { after, before },
    limit,
    askedAt: null,
  });
  const hashes = db
    .prepare("SELECT x.message_id AS id, hex(m.content_hash) AS hash FROM messages x JOIN mails m ON m.id = x.mail_id")
    .all() as { id: string; hash: string }[];
  const hashOf = new Map(hashes.map((row) => [row.id, row.hash]));
  const plain = mails.map((email) => plainMail(email, hashOf.get(email.messageId) ?? ""));
  return { search, toQuery, reference: referenceSearch(distinct(plain), new Set(STOP)) };
}

function plainMail(email: FiledEmail, hash: string): PlainMail {
  const recipients = [...email.to, ...email.cc, ...email.bcc];
  const owner = email.owner === null ? [] : [FOLDERS[email.owner] ?? ""];
  return { ...email, recipients, inboxes: [email.sender, ...recipients, ...owner], hash };
}

/** Copies count as one email, under the first Message-ID, in all mailboxes. */
function distinct(mails: readonly PlainMail[]): PlainMail[] {
  const byHash = new Map<string, PlainMail>();
  for (const copy of mails) {
    const first = byHash.get(copy.hash) ?? copy;
    const [messageId = ""] = [copy.messageId, first.messageId].sort();
    byHash.set(copy.hash, { ...first, messageId, inboxes: [...first.inboxes, ...copy.inboxes] });
  }
  return [...byHash.values()];
}

const marked = (hits: readonly MailHit[]) => hits.map(({ messageId, match }) => ({ messageId, match }));

const originals = randomMails(300, SEED);
const copies = originals.slice(0, 12).map((email, i) => ({ ...email, messageId: `<a${i}@x>`, owner: "flo-f" }));
const small = corpusOf([...originals, ...copies]);

describe("a search of 300 random emails", () => {
  test(`finds the same emails as a full scan, best first, with its scores and its total, in ${RUNS} searches`, () => {
    const seen = { all_words: 0, best_match: 0, both: 0 };
    fc.assert(
      fc.property(anyQuery, (query) => {
        const { hits, total } = small.search.bestFirst(small.toQuery(query));
        expect({ hits: marked(hits), total }).toEqual(small.reference.bestFirst(query));
        const marks = new Set(hits.map(({ match }) => match));
        for (const mark of marks) seen[mark]++;
        if (marks.size === 2) seen.both++;
      }),
      { seed: SEED + 1, numRuns: RUNS },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(RUNS / 20);
  });
});

/** `contract` occurs in all but the oldest hundred, `meeting` in every fifth, `zebra` in eight. */
const many = corpusOf(
  Array.from({ length: 1_500 }, (_, i) =>
    mail(`n${10_000 + i}`, {
      subject: i % 97 === 0 ? "budget" : "",
      body: `${i < 100 ? "" : "contract "}${i % 200 === 3 ? "zebra " : ""}${i % 5 === 0 ? "meeting " : ""}number ${i}`,
      to: i % 3 === 0 ? [CAT] : [BEN],
      date: new Date(Date.UTC(2001, 0, 1, i)).toISOString().replace(".000", ""),
    }),
  ),
);

function ask(words: string, changes: Partial<PlainQuery> = {}): PlainQuery {
  return { words, inbox: null, from: null, to: null, after: null, before: null, limit: 10, ...changes };
}

describe("a search of 1,500 emails", () => {
  const cases: [string, PlainQuery][] = [
    ["a word in 1,400 of them", ask("contract")],
    ["such a word and a rare one", ask("contract zebra", { limit: 50 })],
    ["such a word and an unknown one", ask("contract unheard")],
    ["two such words", ask("contract number", { limit: 50 })],
    ["two such words that never occur together", ask('"contract number zebra" number', { limit: 50 })],
    ["such a word in a mailbox that holds fewer", ask("contract zebra", { inbox: CAT, limit: 50 })],
    ["such a word in a period that holds fewer", ask("contract zebra", { before: "2001-01-30T00:00:00Z", limit: 50 })],
    ["more than 200 mails with every word", ask("meeting", { limit: 50 })],
    ["more than 200 mails with every word, and more of them asked for", ask("meeting", { limit: 300 })],
    ["more than 200 emails with every word and old best ones", ask("contract budget meeting", { limit: 3 })],
    ["more best matches than are weighed", ask("meeting zebra unheard", { limit: 150 })],
    ["rare words only", ask("zebra budget", { limit: 50 })],
    ["one mailbox", ask("meeting number", { inbox: ANN, limit: 20 })],
  ];

  test.each(cases)("ranks like the reference (%s)", (_, query) => {
    const { hits, total } = many.search.bestFirst(many.toQuery(query));
    expect({ hits: marked(hits), total }).toEqual(many.reference.bestFirst(query));
    expect(hits.length).toBeGreaterThan(0);
  });

  test("counts all emails with all words in the total, for any limit", () => {
    const { hits, total } = many.search.bestFirst(many.toQuery(ask("meeting", { limit: 5 })));
    expect({ listed: hits.length, total }).toEqual({ listed: 5, total: 300 });
  });
});

test("weights words after an import the same, whether it was opened before or after the import", () => {
  const db = openCorpus([
    mail("gas", { body: "gas gas gas gas" }),
    mail("zebra", { body: `zebra ${"and so on ".repeat(50)}` }),
  ]);
  open.push(db);
  const before = openMailSearch(db);
  const asked = {
    words: "gas zebra",
    inboxId: addressId(db, BEN),
    fromIds: null,
    toIds: null,
    limit: 2,
    askedAt: null,
  };
  const first = (search: typeof before) =>
    search.bestFirst({ ...asked, period: { after: null, before: null } }).hits[0]?.messageId;
  expect(first(before)).toBe("<gas@plains.example>");
  fill(
    db,
    [...Array(200).keys()].map((i) =>
      mail(`${i}`, { body: `${i % 2 === 0 ? "a little gas and" : ""} more ${i} ${"on ".repeat(900)}` }),
    ),
  );
  expect(first(openMailSearch(db))).toBe("<zebra@plains.example>");
  expect(first(before)).toBe("<zebra@plains.example>");
});

test("finds emails whose position in the file changed in a later import", () => {
  const on = (day: number) => new Date(Date.UTC(2001, 4, day)).toISOString().replace(".000", "");
  const about = (name: string, day: number) => mail(name, { body: `gas in ${name}`, date: on(day) });
  const db = openCorpus([about("may", 1), about("june", 32)]);
  open.push(db);
  const before = openMailSearch(db);
  const period = { after: null, before: null };
  const asked = {
    words: "gas",
    inboxId: addressId(db, BEN),
    fromIds: null,
    toIds: null,
    period,
    limit: 9,
    askedAt: null,
  };
  const found = (search: typeof before) => withAllWords(search, asked).map(({ messageId }) => messageId);
  expect(found(before)).toEqual(["june", "may"].map((name) => `<${name}@plains.example>`));
  fill(db, [about("july", 62), about("between", 20)]);
  const all = ["july", "june", "between", "may"].map((name) => `<${name}@plains.example>`);
  expect([found(openMailSearch(db)), found(before)]).toEqual([all, all]);
});
