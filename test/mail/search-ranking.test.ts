import { afterAll, describe, expect, it, test } from "vitest";
import { openMailSearch } from "../../src/mail/search.js";
import { termMatcher } from "../../src/mail/search-matches.js";
import { bestPassage, generateCandidates } from "../../src/mail/search-ranking.js";
import {
  detectCorrespondents,
  detectRecency,
  detectSentMonth,
  isSentMonth,
  periodsNamed,
  RANKING_SIGNALS,
  type SignalMail,
  type SignalQuery,
} from "../../src/mail/search-signals.js";
import { ANN, addressId, BEN, idsOf, mail, openCorpus, query } from "./small-corpus.js";

/** Gas is in every mail, July in those from 100 on. */
const GAS = Array.from({ length: 200 }, (_, i) => i + 1);
const JULY = GAS.slice(99);
const [gas, july] = [1, 2];
const JUNE = { range: { first: 20, last: 24 }, terms: [1] };

const positions = (implied: Parameters<typeof generateCandidates>[3]) =>
  generateCandidates([GAS, JULY], [gas, july], 10, implied).map(({ position }) => position);

test("of mails of one weight the newest are candidates", () => {
  expect(positions([])).toEqual(JULY.slice(0, 30));
});

test("mail that counts as holding a word is a candidate before mail that holds fewer", () => {
  const found = positions([JUNE]);
  expect(found).toHaveLength(30);
  expect(found.slice(0, 5)).toEqual([20, 21, 22, 23, 24]);
});

test("a word that a mail holds, or that two periods imply, counts once", () => {
  const held = { range: { first: 100, last: 200 }, terms: [1] };
  expect(generateCandidates([GAS, JULY], [gas, july], 10, [held, JUNE, JUNE]).map(({ weight }) => weight)).toEqual(
    Array(30).fill(gas + july),
  );
});

const OWNER = "ann.owner@plains.example";
const asks = (words: string): SignalQuery => ({ words, owner: OWNER, askedAt: "2001-05-15T00:00:00Z" });

const sent = (mail: Partial<SignalMail>): SignalMail => ({
  sender: "ben@plains.example",
  recipients: [],
  date: "2001-05-01T10:00:00Z",
  ...mail,
});

describe("the month of sending", () => {
  const strength = (words: string, date: string | null) => detectSentMonth(asks(words))?.(sent({ date }));
  it.each([
    ["the draft of September 2000", "2000-09-30T23:59:59Z", 1],
    ["the draft of September 2000", "2000-10-01T00:00:00Z", 0],
    ["the draft of September 2000", "2001-09-04T00:00:00Z", 0],
    ["the gas of 8/27", "2001-08-01T00:00:00Z", 1],
    ["the gas of 27 August", "2001-08-01T00:00:00Z", 1],
    ["the gas of 27 August", "2001-07-31T00:00:00Z", 0],
    ["losses in july", "1999-07-04T00:00:00Z", 1],
    ["losses between January and Feb", "1999-02-04T00:00:00Z", 1],
    ["losses in March", "1999-03-04T00:00:00Z", 1],
    ["losses in May", "1999-05-04T00:00:00Z", 1],
    ["losses in May 2000", "1999-05-04T00:00:00Z", 0],
    ["losses in July", null, 0],
  ])("%s, sent %s: %s", (words, date, expected) => expect(strength(words, date)).toBe(expected));

  it.each(["May I go?", "what may come", "the long march", "a decent marble", "gas 4500"])(
    "%s names no month",
    (words) => expect(detectSentMonth(asks(words))).toBeNull(),
  );
});

describe("a word that the day of sending implies", () => {
  it.each([
    ["september", "2000-09-30T23:59:59Z", true],
    ["sep", "2000-09-30T23:59:59Z", true],
    ["sept", "2000-09-30T23:59:59Z", true],
    ["2000", "2000-09-30T23:59:59Z", true],
    ["may", "2001-05-01T00:00:00Z", true],
    ["2001", "2000-09-30T23:59:59Z", false],
    ["october", "2000-09-30T23:59:59Z", false],
    ["sept", "2000-10-01T00:00:00Z", false],
    ["septem", "2000-09-30T23:59:59Z", false],
    ["", "2000-09-30T23:59:59Z", false],
    ["september", null, false],
  ])("%s, of mail sent %s: %s", (word, date, expected) => expect(isSentMonth(word, sent({ date }))).toBe(expected));
});

describe("the periods of months that are named with their year", () => {
  it.each([
    ["the gas of December 2000", [["2000-12-01T00:00:00Z", "2001-01-01T00:00:00Z"]]],
    ["the gas of 27 August 2001", [["2001-08-01T00:00:00Z", "2001-09-01T00:00:00Z"]]],
    ["losses in July", []],
    ["losses", []],
  ])("%s", (words, expected) =>
    expect(periodsNamed(asks(words)).map(({ after, before }) => [after, before])).toEqual(expected),
  );
});

describe("sender and recipients", () => {
  const strength = (words: string, mail: Partial<SignalMail>) => detectCorrespondents(asks(words))?.(sent(mail));
  it.each([
    ["What did I offer for it?", { sender: OWNER }, 1],
    ["What did I offer for it?", { sender: "ben@plains.example" }, 0],
    ["the rate that I gave", { sender: OWNER }, 1],
    ["What did Christian say?", { sender: "christian.yoder@plains.example" }, 1],
    ["what did christian say?", { sender: "christian.yoder@plains.example" }, 1],
    ["What did Brabb say?", { sender: "drew_a_brabb@plains.example" }, 1],
    ["What did Cherry say?", { sender: "bcherry@plains.example" }, 1],
    ["What did Christian say?", { sender: "ben@christian.example" }, 0],
    ["What did Lee say?", { sender: "ashlee@plains.example" }, 0],
    ["the note from Dana Okafor", { sender: "dana.okafor@plains.example" }, 1],
    ["Who is to tell Marshall?", { recipients: ["ben@plains.example", "marshall.brown@plains.example"] }, 1],
    ["Who is to tell Marshall?", { recipients: ["ben@plains.example"], sender: "marshall.brown@plains.example" }, 0],
    ["What did I tell Marshall?", { recipients: ["marshall.brown@plains.example"] }, 0.5],
    ["What did I tell Marshall?", { recipients: ["marshall.brown@plains.example"], sender: OWNER }, 1],
  ])("%s %j: %s", (words, mail, expected) => expect(strength(words, mail)).toBe(expected));

  it.each(["the gas price", "What did we do with them?", "Who called me to do so?"])("%s names nobody", (words) =>
    expect(detectCorrespondents(asks(words))).toBeNull(),
  );

  it("has no owner to have written in everybody's mail", () =>
    expect(detectCorrespondents({ ...asks("What did I offer?"), owner: null })).toBeNull());
});

describe("recency", () => {
  const strength = (date: string | null) => detectRecency(asks("gas"))?.(sent({ date }));
  it.each([
    ["2001-05-15T00:00:00Z", 1],
    ["2001-05-01T00:00:00Z", 0.5],
    ["2001-04-17T00:00:00Z", 0.25],
    ["2001-06-01T00:00:00Z", 1],
    [null, 0],
  ])("of mail of %s is %s", (date, expected) => expect(strength(date)).toBe(expected));

  it("needs to know when it is asked", () => expect(detectRecency({ ...asks("gas"), askedAt: null })).toBeNull());
});

describe("explained hits", () => {
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
});

const find = termMatcher(["gas", "price"]);
const passage = (body: string, subject = "") => bestPassage(body, find(subject), find(body), [1, 1]);
const score = (body: string, subject = "") => passage(body, subject).termScores.reduce((sum, one) => sum + one, 0);
const filler = (chars: number) => "and ".repeat(chars / 4);

describe("the best passage", () => {
  it.each([
    ["a short body", "the gas price", [0, 13]],
    ["an empty body", "", [0, 0]],
    ["the start, where nothing matches", filler(4_000), [0, 1_500]],
    ["the one with both words", `gas ${filler(2_000)}price gas ${filler(2_000)}gas`, [750, 2_250]],
    ["the first of equals", `gas ${filler(3_996)}gas ${filler(1_000)}`, [0, 1_500]],
    ["the shorter at the end", `${filler(3_000)}gas price`, [2_250, 3_009]],
  ])("is %s", (_, body, expected) => {
    const { start, end } = passage(body);
    expect([start, end]).toEqual(expected);
  });

  it("finds words that lie apart only together with what stands near them", () => {
    expect(score(`gas price ${filler(2_990)}`)).toBeGreaterThan(score(`gas ${filler(2_990)} price`));
  });

  it("is worth as much deep in a long mail as in a mail of its own", () => {
    const alone = `${filler(748)}gas price${filler(740)}and`;
    expect(score(`${filler(6_000)}${alone}${filler(6_000)}`)).toBeCloseTo(score(alone), 10);
  });

  it("counts the subject with every passage, and quoted mail half", () => {
    expect(score(`${filler(4_000)}price`, "gas")).toBeGreaterThan(score(`${filler(4_000)}price`));
    expect(score("see\n> gas price")).toBeLessThan(score("see\n; gas price"));
  });

  it("has the matches in the passage alone", () => {
    expect(passage(`gas ${filler(2_000)}price gas`).inBody.map(({ term }) => term)).toEqual([1, 0]);
  });
});
