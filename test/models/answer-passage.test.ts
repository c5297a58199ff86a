import { describe, expect, it } from "vitest";
import { pickPassage, splitPassages } from "../../src/models/answer-passage.js";

it.each([
  ["Wir treffen uns am 12. März um neun. Bitte kommen.", ["Wir treffen uns am 12. März um neun.", "Bitte kommen."]],
  ["Am 12. 3. 2001 ist Schluss. Danach nicht.", ["Am 12. 3. 2001 ist Schluss.", "Danach nicht."]],
  ["It costs 12. The next one is free.", ["It costs 12.", "The next one is free."]],
  ["We have 5. Marketing is done.", ["We have 5.", "Marketing is done."]],
  ["He meets us in A12. Mai Lee comes too.", ["He meets us in A12.", "Mai Lee comes too."]],
])("sentences of %j are separated, and a day's full stop does not end one", (text, sentences) => {
  expect(splitPassages(text)).toEqual(sentences);
});

describe("pickPassage", () => {
  const short = { messageId: "<short>", subject: "Storage", text: "The storage capacity in Reno is 250." };
  const long = {
    messageId: "<long>",
    subject: "Newsletter",
    text: "Storage fills up.\n\nA new hotel opens in Reno.\n\nCapacity is scarce.\n\nMay brings rain.\n\nSouth of it, sun.",
  };
  const question = "What is the storage capacity in Reno in May in the South?";

  it("prefers the email with the best passage to one that has more query words in other places", () => {
    expect(pickPassage(question, [short, long], [])?.mail).toBe(short);
  });

  it("takes a lower-ranked email whose passage fits clearly better", () => {
    expect(pickPassage(question, [long, short], [])).toEqual({ mail: short, passage: short.text });
  });
});
