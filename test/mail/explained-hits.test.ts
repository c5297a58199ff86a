import { afterAll, expect, test } from "vitest";
import { openMailSearch } from "../../src/mail/search.js";
import { RANKING_SIGNALS } from "../../src/mail/search-signals.js";
import { ANN, addressId, BEN, idsOf, mail, openCorpus, query } from "./small-corpus.js";

const db = openCorpus([
  mail("june", {
    subject: "gas",
    body: "the price of gas is $4.10",
    date: "2001-06-10T09:00:00Z",
    sender: ANN,
    to: [BEN],
  }),
  mail("july", {
    subject: "gas",
    body: "the price of gas is $4.20",
    date: "2001-07-10T09:00:00Z",
    sender: ANN,
    to: [BEN],
  }),
  mail("reply", {
    subject: "Re: power",
    body: "see below\n-----Original Message-----\ngas, more gas",
    date: "2001-07-11T09:00:00Z",
    sender: BEN,
    to: [ANN],
  }),
]);
afterAll(() => db.close());

const search = openMailSearch(db);
const ask = (words: string, askedAt: string | null = null) =>
  query(words, { inboxId: addressId(db, BEN), askedAt, limit: 3 });
const best = (words: string, askedAt: string | null = null) => idsOf(search.bestFirst(ask(words, askedAt)).hits);

test("a month, the sender and the day of the question each move a mail up", () => {
  expect(best("gas price")).toEqual(["july", "june", "reply"]);
  expect(best("gas price in June")).toEqual(["june", "july", "reply"]);
  expect(best("gas price", "2001-06-11T00:00:00Z")).toEqual(["july", "june", "reply"]);
  expect(idsOf(search.bestFirst(ask("gas price June")).hits)[0]).toBe("june");
});

test("without its signal a month does not count", () => {
  const others = openMailSearch(
    db,
    RANKING_SIGNALS.filter(({ name }) => name !== "sent_month"),
  );
  expect(idsOf(others.bestFirst(ask("gas price in June")).hits)).toEqual(["july", "june", "reply"]);
});

test("a mail of a named month counts as holding the month's words once", () => {
  const { hits } = search.explainBestFirst(ask("price in July 2001"));
  const words = (messageId: string) =>
    hits
      .filter((hit) => idsOf([hit])[0] === messageId)
      .flatMap(({ explanation }) =>
        explanation.words.map(({ word, idf, score }) => [word, score === idf, score === 0]),
      );
  expect(words("july")).toEqual([
    ["price", false, false],
    ["july", true, false],
    ["2001", true, false],
  ]);
  expect(words("june")).toEqual([
    ["price", false, false],
    ["july", false, true],
    ["2001", false, true],
  ]);
});

test("words about mail do not count, unless there are no others", () => {
  const words = (text: string) =>
    search.explainBestFirst(ask(text)).hits[0]?.explanation.words.map(({ word }) => word) ?? [];
  expect(words("the message about gas")).toEqual(["gas"]);
  expect(words("Original Message")).toEqual(["original"]);
  expect(words("message")).toEqual(["message"]);
});

test("the parts of a score make up the score, and order the hits", () => {
  const { hits, total } = search.explainBestFirst(
    ask("What did Ann name as the gas price in June?", "2001-07-12T00:00:00Z"),
  );
  expect([idsOf(hits), total]).toEqual([["june", "july", "reply"], 3]);
  for (const { explanation } of hits) {
    const words = explanation.words.reduce((sum, { score }) => sum + score, 0);
    const raised = explanation.signals.reduce((sum, { raise }) => sum + raise, 1);
    expect(explanation.score).toBeCloseTo(words * raised, 10);
  }
  expect(hits.map((hit) => hit.explanation.score)).toEqual(
    hits.map((hit) => hit.explanation.score).toSorted((a, b) => b - a),
  );
});

test("counts matches in the subject, in the sender's own text and in quoted mail", () => {
  const { hits } = search.explainBestFirst(ask("gas powers"));
  const counts = Object.fromEntries(
    hits.map(({ messageId, explanation }) => [
      idsOf([{ messageId }])[0],
      explanation.words.map(({ word, inSubject, inBody, inQuoted }) => [word, inSubject, inBody, inQuoted]),
    ]),
  );
  expect(counts).toEqual({
    reply: [
      ["gas", 0, 0, 2],
      ["powers", 1, 0, 0],
    ],
    july: [
      ["gas", 1, 1, 0],
      ["powers", 0, 0, 0],
    ],
    june: [
      ["gas", 1, 1, 0],
      ["powers", 0, 0, 0],
    ],
  });
});

test("names each signal that the query asks for, with what the mail shows of it", () => {
  const { hits } = search.explainBestFirst(ask("What did Ann want for gas in June?"));
  expect(hits.find(({ messageId }) => messageId.includes("june"))?.explanation.signals).toEqual([
    { signal: "sent_month", meaning: "sent in a month that is named", raise: 0.25 },
    { signal: "correspondents", meaning: "from or to those who are named", raise: 0.25 },
  ]);
  expect(
    hits.find(({ messageId }) => messageId.includes("reply"))?.explanation.signals.map(({ raise }) => raise),
  ).toEqual([0, 0]);
});

test("words that no mail can have find nothing", () => {
  expect(search.explainBestFirst(ask("?!"))).toEqual({ hits: [], total: 0, corrections: [] });
});
