import { describe, expect, it } from "vitest";
import { termMatcher } from "../../src/mail/search-matches.js";
import { bestPassage } from "../../src/mail/search-ranking.js";

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
