import { describe, expect, it } from "vitest";
import { parseAddresses } from "../../src/mail/mime.js";

describe("parseAddresses", () => {
  it.each([
    ["nothing", ""],
    ["an empty address", "<>"],
    ["an empty group", "undisclosed-recipients:;"],
    ["commas", " , ,"],
    ["a lone quote", '"'],
  ])("finds none in %s", (_what, field) => {
    expect(parseAddresses(field)).toEqual([]);
  });

  it.each([
    ["a list", "a@example.com, b@example.com,\tc@example.com", ["a@example.com", "b@example.com", "c@example.com"]],
    ["capitals and repeats", "A@Example.com, b@example.com, a@EXAMPLE.com", ["a@example.com", "b@example.com"]],
    [
      "display names",
      '"Cedar, Leo" <leo@example.com>, Mia Alder <mia@example.com>',
      ["leo@example.com", "mia@example.com"],
    ],
    [
      "a group",
      "Team: a@example.com, B <b@example.com>;, c@example.com",
      ["a@example.com", "b@example.com", "c@example.com"],
    ],
    ["dots in a row", "k..allen@example.com", ["k..allen@example.com"]],
    ["a leading dot behind a name", "legal <.hall@example.com>", [".hall@example.com"]],
    ["an apostrophe", "p..o'neil@example.com", ["p..o'neil@example.com"]],
    ["quotes around a whole address", "'pat@example.com', \"sam@example.com\"", ["pat@example.com", "sam@example.com"]],
    ["a quoted local part", '"kirk.(e-mail)"@example.com', ["kirk.(e-mail)@example.com"]],
    ["the same in brackets", '<"kirk.(e-mail)"@example.com>', ["kirk.(e-mail)@example.com"]],
    ["the same without quotes", "kirk.(e-mail)@example.com", ["kirk.(e-mail)@example.com"]],
    ["one pair of brackets around two", "<a@example.com, b@example.com>", ["a@example.com", "b@example.com"]],
    ["a bracket that never opens", "a@example.com>", ["a@example.com"]],
    ["an encoded name", "=?utf-8?Q?a=2C_b?= <x@example.com>", ["x@example.com"]],
    ["semicolons", "a@example.com; b@example.com", ["a@example.com", "b@example.com"]],
  ])("finds %s", (_what, field, addresses) => {
    expect(parseAddresses(field)).toEqual(addresses);
  });

  it("keeps a text without an address only where there is nothing better", () => {
    expect(parseAddresses("Board Room 3, postmaster")).toEqual(["board room 3", "postmaster"]);
    expect(parseAddresses("Board Room 3, a@example.com")).toEqual(["a@example.com"]);
  });

  it("gives the same when it reads its own addresses", () => {
    const once = parseAddresses('"Cedar, Leo" <\'leo@example.com\'>, <"kirk.(e-mail)"@example.com>, .x@example.com');
    expect(parseAddresses(once.join(", "))).toEqual(once);
  });
});
