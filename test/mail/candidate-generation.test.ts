import { expect, test } from "vitest";
import { generateCandidates } from "../../src/mail/search-ranking.js";

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
