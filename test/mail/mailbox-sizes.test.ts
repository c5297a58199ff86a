import { afterAll, expect, test } from "vitest";
import { largestInboxes, openMailCount } from "../../src/mail/search-postings.js";
import type { Db } from "../../src/store/open-store.js";
import { FOLDERS, randomMails } from "./random-corpus.js";
import { ANN, addressId, BEN, mail, openCorpus } from "./small-corpus.js";

const open: Db[] = [];
afterAll(() => {
  for (const db of open) db.close();
});

function corpus(...args: Parameters<typeof openCorpus>): Db {
  const db = openCorpus(...args);
  open.push(db);
  return db;
}

test("the largest inboxes are counted as searches count them, most mail first", () => {
  const db = corpus(randomMails(100, 3), FOLDERS);
  const inboxes = largestInboxes(db, 100);
  const count = openMailCount(db);
  expect(inboxes.length).toBeGreaterThan(4);
  for (const { address, mails } of inboxes) expect(mails).toBe(count(addressId(db, address)));
  expect(inboxes.map(({ mails }) => mails)).toEqual(inboxes.map(({ mails }) => mails).sort((a, b) => b - a));
  expect(largestInboxes(db, 2)).toEqual(inboxes.slice(0, 2));
});

test("words of the mail that look like the index's own are no inboxes", () => {
  const db = corpus([mail("one", { subject: "in1 in2 in77", body: "in1 in2 in77" }), mail("two", { to: [ANN] })]);
  expect(largestInboxes(db, 9)).toEqual([
    { address: ANN, mails: 2 },
    { address: BEN, mails: 1 },
  ]);
});

test("without mail there are none", () => {
  expect(largestInboxes(corpus([]), 9)).toEqual([]);
});
