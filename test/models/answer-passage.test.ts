import { expect, it } from "vitest";
import { splitPassages } from "../../src/models/answer-passage.js";

it.each([
  ["Wir treffen uns am 12. März um neun. Bitte kommen.", ["Wir treffen uns am 12. März um neun.", "Bitte kommen."]],
  ["Am 12. 3. 2001 ist Schluss. Danach nicht.", ["Am 12. 3. 2001 ist Schluss.", "Danach nicht."]],
  ["It costs 12. The next one is free.", ["It costs 12.", "The next one is free."]],
  ["We have 5. Marketing is done.", ["We have 5.", "Marketing is done."]],
  ["He meets us in A12. Mai Lee comes too.", ["He meets us in A12.", "Mai Lee comes too."]],
])("%j is cut into its sentences, and not after a day", (text, sentences) => {
  expect(splitPassages(text)).toEqual(sentences);
});
