import fc from "fast-check";
import type { FiledEmail } from "../../src/mail/email.js";
import type { PlainQuery } from "./search-reference.js";
import { ANN, BEN, CAT, DAN, mail } from "./small-corpus.js";

/** A small random corpus that is always the same, with queries. */

const PEOPLE = [ANN, BEN, CAT, DAN, "eve@hills.example", "flo@hills.example"] as const;

/** The folders' owners. The mail does not reveal Flo's address. */
export const FOLDERS: Readonly<Record<string, string>> = { "ann-a": ANN, "ben-b": BEN, "flo-f": PEOPLE[5] };

export const STOP = ["and", "or", "not", "the", "of", "what", "is", "to", "when", "about", "s", "please"];

const RARE = [
  "possibility",
  "possible",
  "agreed",
  "agree",
  "dies",
  "dying",
  "zebra",
  "café",
  "cafe\u0301s",
  "naïve",
  "e3",
  "2001",
];
/** Accents, Cyrillic, and scripts without spaces. */
const BEYOND_ASCII = [
  "Müller",
  "MULLER",
  "москва",
  "Москва",
  "会議",
  "会議室の予算",
  "予算2001年",
  "室",
  "การประชุม",
  "회의는",
];
const ORDINARY = [
  "gas",
  "price",
  "prices",
  "pricing",
  "meeting",
  "meetings",
  "contract",
  "contracts",
  "budget",
  "trade",
];
const MORE = ["trading", "traders", "floor", "lunch", "friday", "report", "reported", "Q3", "West", "DESK"];
const TOGETHER = ["gas price", "trading floor", "Q3-budget", "what's", "gas contract, price", "ann@plains.example"];
const ENDS = [" ", " ", " ", " ", ", ", ".\n", "\n\n", " - ", "/", " (", ") ", "_", " 🙂 ", "’s ", "—", "、"];

const QUOTED = [
  "\n-----Original Message-----\n",
  "\n---------------------- Forwarded by Ann on 05/14/2001 ---\n",
  "\n> ",
  "\n\n  From: Ann\n",
  "\nOn Monday Ann wrote:\n",
];

const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ORDINARY) },
  { weight: 6, arbitrary: fc.constantFrom(...MORE) },
  { weight: 5, arbitrary: fc.constantFrom(...STOP) },
  { weight: 1, arbitrary: fc.constantFrom(...RARE) },
  { weight: 1, arbitrary: fc.constantFrom(...BEYOND_ASCII) },
  { weight: 2, arbitrary: fc.constantFrom(...TOGETHER) },
);
const text = (maxLength: number, minLength = 0) =>
  fc
    .array(fc.tuple(word, fc.constantFrom(...ENDS)), { minLength, maxLength, size: "max" })
    .map((words) => words.flat().join("").trimEnd());
const someone = fc.constantFrom(...PEOPLE.slice(0, 5));
const several = (maxLength: number) => fc.uniqueArray(someone, { maxLength });
/** Few seconds, so that some emails share one. */
const date = fc
  .integer({ min: 0, max: 400 })
  .map((n) => `${new Date(Date.UTC(2001, 0, 1) + n * 7_200_000).toISOString().slice(0, 19)}Z`);

const anyMail = fc.record({
  subject: text(5),
  sender: someone,
  to: several(3),
  cc: several(1),
  bcc: several(1),
  date: fc.option(date, { nil: null, freq: 20 }),
  body: fc.oneof(
    { weight: 12, arbitrary: text(25) },
    { weight: 8, arbitrary: text(160, 40) },
    {
      weight: 8,
      arbitrary: fc.tuple(text(30), fc.constantFrom(...QUOTED), text(60)).map((parts) => parts.join("")),
    },
    // Longer than the part that ranking reads.
    { weight: 1, arbitrary: fc.tuple(text(40), text(40, 5)).map(([a, b]) => `${a} ${"filler ".repeat(2_900)}${b}`) },
  ),
  owner: fc.option(fc.constantFrom(...Object.keys(FOLDERS))),
});

export function randomMails(count: number, seed: number): FiledEmail[] {
  return fc.sample(anyMail, { numRuns: count, seed }).map((changes, i) => mail(`m${1000 + i}`, changes));
}

const asked = fc.oneof(
  { weight: 8, arbitrary: word },
  { weight: 1, arbitrary: word.map((one) => one.toUpperCase()) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("会", "算", "議室", "の予", "予算 2001", "ประช", "회의", "mu\u0308ller", "室 会議"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...TOGETHER, "price gas", "floor", "gas contract price").map((one) => `"${one}"`),
  },
  { weight: 1, arbitrary: fc.tuple(word, word).map((pair) => `"${pair.join(" ")}"`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("unheard", "?", "AND", "NOT", '"', '""', "*", "gas*", "-", "subject:gas", "("),
  },
);

export const anyQuery: fc.Arbitrary<PlainQuery> = fc.record({
  words: fc.array(asked, { minLength: 1, maxLength: 6 }).map((words) => words.join(" ")),
  inbox: fc.option(fc.constantFrom(...PEOPLE), { nil: null, freq: 3 }),
  from: fc.option(fc.uniqueArray(someone, { minLength: 1, maxLength: 2 }), { nil: null, freq: 2 }),
  to: fc.option(fc.uniqueArray(someone, { minLength: 1, maxLength: 2 }), { nil: null, freq: 2 }),
  after: fc.option(date, { nil: null, freq: 2 }),
  before: fc.option(date, { nil: null, freq: 2 }),
  limit: fc.constantFrom(1, 2, 5, 10, 10, 50, 300),
});
