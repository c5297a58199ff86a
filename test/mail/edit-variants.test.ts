import { describe, expect, it } from "vitest";
import { editVariants } from "../../src/mail/search-spelling.js";

describe("words a letter away", () => {
  it("are all of those, once each, without the word itself", () => {
    const variants = editVariants("ab");
    expect(variants).toEqual(expect.arrayContaining(["a", "b", "ba", "zb", "az", "zab", "azb", "abz"]));
    // Two left out, one swap, 2 x 25 changed, and 26 put in at three positions, of which "aab" and "abb" come twice.
    expect(variants).toHaveLength(2 + 1 + 50 + 3 * 26 - 2);
    expect(new Set(variants).size).toBe(variants.length);
    expect(variants).not.toContain("ab");
  });

  it.each([
    ["hanvold", "hanevold"],
    ["hannevold", "hanevold"],
    ["hanefold", "hanevold"],
    ["hanevlod", "hanevold"],
    ["anevold", "hanevold"],
    ["москав", "москва"],
    ["мсква", "москва"],
    ["αθινα", "αθηνα"],
    ["straße", "strasße"],
    ["תשובח", "תשוב"],
    ["תושבח", "תשובח"],
  ])("%s has %s", (word, other) => expect(editVariants(word)).toContain(other));

  it("puts in letters of the word's own script, and none of a script without a list", () => {
    expect(editVariants("мсква").join("")).not.toMatch(/[a-z]/);
    expect(editVariants("תשובח")).toHaveLength(5 + 4);
  });
});
