import { describe, expect, it } from "vitest";
import { locateAnswer, locatePassage, splitPassages } from "../../src/text/passages.js";

it.each([
  ["Wir treffen uns am 12. März um neun. Bitte kommen.", ["Wir treffen uns am 12. März um neun.", "Bitte kommen."]],
  ["Am 12. 3. 2001 ist Schluss. Danach nicht.", ["Am 12. 3. 2001 ist Schluss.", "Danach nicht."]],
  ["It costs 12. The next one is free.", ["It costs 12.", "The next one is free."]],
  ["We have 5. Marketing is done.", ["We have 5.", "Marketing is done."]],
  ["He meets us in A12. Mai Lee comes too.", ["He meets us in A12.", "Mai Lee comes too."]],
])("separates the sentences of %j, and a day's full stop does not end one", (text, sentences) => {
  expect(splitPassages(text)).toEqual(sentences);
});

describe("locatePassage", () => {
  const lit = (text: string, passage: string) => {
    const span = locatePassage(text, passage);
    return span === null ? null : text.slice(span.start, span.end);
  };

  it.each([
    ["a wrapped line", "We meet\nat  noon. Bye", "we meet at noon.", "We meet\nat  noon."],
    ["a quotation", "> We meet\n> at noon.", "We meet at noon.", "We meet\n> at noon."],
    ["a letter that becomes two in lower case", "İİ We meet at noon.", "meet at noon", "meet at noon"],
    ["nothing if the passage is missing", "We meet at noon.", "we meet at one", null],
    ["nothing if the passage is too short", "We meet at noon.", "at", null],
  ])("finds %s", (_, text, passage, found) => expect(lit(text, passage)).toBe(found));
});

it("locateAnswer finds the passage that contains the answer's words", () => {
  const body = "Hello,\n\nthe draft went out to all.\nThe dues are $1,250 a year.\n\nRegards";
  const found = (question: string, answer: string, text = body) => {
    const span = locateAnswer(text, { question, answer });
    return span === null ? null : text.slice(span.start, span.end);
  };
  expect(found("What are the dues?", "$1,250")).toBe("The dues are $1,250 a year.");
  expect(found("Where did the draft go?", "nowhere")).toBe("the draft went out to all.");
  expect(found("Who?", "Ann", "\n\n")).toBeNull();
});
