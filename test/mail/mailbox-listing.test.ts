import { afterAll, describe, expect, test } from "vitest";
import { openMailboxListing } from "../../src/mail/mailbox.js";
import { ANN, BEN, CAT, DAN, mail, openCorpus } from "./small-corpus.js";

const day = (number: number) => `2001-05-${String(number).padStart(2, "0")}T10:00:00Z`;
const db = openCorpus([
  ...[1, 2, 3, 4].map((n) => mail(`a${n}`, { subject: `number ${n}`, date: day(n) })),
  mail("b1", { subject: "of another mailbox", sender: CAT, to: [DAN] }),
]);
afterAll(() => db.close());

describe("a listing of a mailbox", () => {
  const listing = openMailboxListing(db, BEN, null);

  test("is newest first, in pages that follow each other", () => {
    const first = listing.list(null, 3);
    expect(first.map(({ messageId, subject, sender, date }) => ({ messageId, subject, sender, date }))).toEqual(
      [4, 3, 2].map((n) => ({
        messageId: `<a${n}@plains.example>`,
        subject: `number ${n}`,
        sender: ANN,
        date: day(n),
      })),
    );
    expect(listing.list(first.at(-1)?.cursor ?? null, 3).map(({ subject }) => subject)).toEqual(["number 1"]);
  });

  test("ends before the cutoff", () => {
    const early = openMailboxListing(db, BEN, day(3));
    expect(early.list(null, 9).map(({ subject }) => subject)).toEqual(["number 2", "number 1"]);
    expect(early.complete("a", 9)).toEqual({ ids: ["<a1@plains.example>", "<a2@plains.example>"], hasMore: false });
  });

  test("completes a prefix, and says whether there are more", () => {
    const ids = [1, 2, 3, 4].map((n) => `<a${n}@plains.example>`);
    expect(listing.complete("a", 4)).toEqual({ ids, hasMore: false });
    expect(listing.complete(" <a", 3)).toEqual({ ids: ids.slice(0, 3), hasMore: true });
    expect(listing.complete("a4", 3)).toEqual({ ids: ids.slice(3), hasMore: false });
    expect(listing.complete("b", 3)).toEqual({ ids: [], hasMore: false });
  });

  test("of an address that no mail names is empty", () => {
    const nobody = openMailboxListing(db, "nobody@plains.example", null);
    expect(nobody.list(null, 9)).toEqual([]);
    expect(nobody.complete("a", 9)).toEqual({ ids: [], hasMore: false });
  });
});
