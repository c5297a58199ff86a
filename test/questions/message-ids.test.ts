import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitMessageIds } from "../../src/questions/files.js";

describe("splitMessageIds", () => {
  it.each(["see <a@x> please", "<a@x> and <b@x>"])("gives %j back unchanged", (cell) => {
    expect(splitMessageIds(cell)).toBe(cell);
  });

  it.each([
    ["", []],
    ["[]", []],
    ["<a@x>", ["<a@x>"]],
    ['["<a@x>","<b@x>"]', ["<a@x>", "<b@x>"]],
    ["['<a@x>', '<b@x>']", ["<a@x>", "<b@x>"]],
    ["['<a@x>' '<b@x>'\n '<c@x>']", ["<a@x>", "<b@x>", "<c@x>"]],
    [`["<o'neil@x>" '<b@x>']`, ["<o'neil@x>", "<b@x>"]],
    ["<a@x>,<b@x>", ["<a@x>", "<b@x>"]],
    ["<a@x>; <b@x>", ["<a@x>", "<b@x>"]],
    ["a@x, b@x", ["a@x", "b@x"]],
    ["['a@x' 'b@x']", ["a@x", "b@x"]],
  ])("reads %j", (cell, ids) => {
    expect(splitMessageIds(cell)).toEqual(ids);
  });

  it("reads back what JSON wrote, whatever the ids hold", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (ids) => {
        expect(splitMessageIds(JSON.stringify(ids))).toEqual(ids);
      }),
    );
  });
});
