import { describe, expect, it } from "vitest";
import { readOwnerMap } from "../../src/mail/import-owners.js";
import { UserError } from "../../src/platform/errors.js";
import { importFolder } from "./import-setup.js";

const { path, write } = importFolder();

const mapOf = (text: string) => Object.fromEntries(readOwnerMap(write("owners.tsv", text)));

describe("an owner map", () => {
  it("is read line by line, with or without a heading, comments, blank lines and further columns", () => {
    const wanted = { "doe-j": "jane.doe@example.com", "roe-r": "r.roe@example.com" };
    const lines = ["doe-j\tJane.Doe@Example.com", "roe-r \t r.roe@example.com\t12 mails\tsure"];
    expect(mapOf(lines.join("\n"))).toEqual(wanted);
    expect(mapOf(["folder\taddress", ...lines, ""].join("\r\n"))).toEqual(wanted);
    expect(mapOf(["folder\taddress", "# the board", "", lines[0], "   ", lines[1]].join("\n"))).toEqual(wanted);
  });

  it("behind a byte order mark keeps the name of its first folder", () => {
    expect(mapOf("\ufeffdoe-j\tjane.doe@example.com\n")).toEqual({ "doe-j": "jane.doe@example.com" });
  });

  it("may be empty", () => {
    expect(mapOf("")).toEqual({});
  });

  it.each([
    ["a folder without an address", "doe-j\tj@x.com\nroe-r\n", 2, "roe-r"],
    ["an address that is none", "doe-j\tj@x.com\n\n# note\nroe-r\tsomeone\n", 4, "roe-r\tsomeone"],
    ["an address without a folder", "folder\taddress\n\tj@x.com\n", 2, "\tj@x.com"],
    ["spaces for a tab", "doe-j\tj@x.com\r\nroe-r r@x.com\r\n", 2, "roe-r r@x.com"],
  ])("with %s names the line", (_, text, line, found) => {
    const file = write("broken.tsv", text);
    const message = `${file}, line ${line}: expected an owner folder, a tab and an address, found "${found}".`;
    expect(() => readOwnerMap(file)).toThrow(expect.objectContaining({ code: "owner_map_row", exitCode: 2, message }));
  });

  it("that is not there is named", () => {
    expect(() => readOwnerMap(path("none.tsv"))).toThrow(UserError);
    expect(() => readOwnerMap(path("none.tsv"))).toThrow(`Cannot read the owner map ${path("none.tsv")}: ENOENT`);
  });
});
