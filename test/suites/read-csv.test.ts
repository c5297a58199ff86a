import { describe, expect, it } from "vitest";
import { readCsv } from "../../src/suites/formats/csv.js";

const read = (text: string) => readCsv(Buffer.from(text));

/** Type and values of the only column. */
function readColumn(...cells: string[]) {
  const [column] = read(`n\n${cells.join("\n")}\n`).columns;
  return [column?.type, ...(column?.values ?? [])];
}

describe("types of a column, as pandas infers them", () => {
  it.each<[string[], unknown[]]>([
    [
      ["1", "+2", " 03 "],
      ["int64", 1, 2, 3],
    ],
    [
      ["1", "NA"],
      ["float64", 1, Number.NaN],
    ],
    [
      ["1", "2.50", "1e3"],
      ["float64", 1, 2.5, 1000],
    ],
    [
      [".5", "5.", "inf", "-Infinity"],
      ["float64", 0.5, 5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ],
    [
      ["true", "FALSE"],
      ["bool", true, false],
    ],
    [
      ["True", "null"],
      ["object", true, Number.NaN],
    ],
    [
      ["a ", "1", "None"],
      ["object", "a ", "1", Number.NaN],
    ],
    [["9007199254740993"], ["int64", 9007199254740993n]],
    [
      ["9223372036854775808", "1"],
      ["uint64", 9223372036854775808n, 1],
    ],
    [
      ["9223372036854775808", "NA"],
      ["object", "9223372036854775808", "NA"],
    ],
    [
      ["9223372036854775808", "-1"],
      ["object", "9223372036854775808", "-1"],
    ],
    [
      ["18446744073709551616", "NA"],
      ["object", "18446744073709551616", Number.NaN],
    ],
    [
      ["1.5", "18446744073709551616"],
      ["float64", 1.5, 18446744073709552000],
    ],
    [["1e400"], ["object", "1e400"]],
    [["1_000"], ["object", "1_000"]],
    [["1e"], ["object", "1e"]],
    [["2024-01-01"], ["object", "2024-01-01"]],
  ])("%j", (cells, column) => expect(readColumn(...cells)).toEqual(column));

  it("takes 17 digits of a float, leading zeros included", () => {
    expect(readColumn("0.30000000000000004")).toEqual(["float64", 0.3]);
    expect(readColumn("3.0000000000000004")).toEqual(["float64", 3.0000000000000004]);
  });

  it("has objects in a file without rows", () => {
    expect(read("a,b\n").columns.map(({ type }) => type)).toEqual(["object", "object"]);
  });

  it("infers by chunks of a long file: numbers and texts stay side by side", () => {
    const [column] = read(`n\n${"1\n".repeat(2 ** 19)}x\n`).columns;
    expect(column?.type).toBe("object");
    expect([column?.values[0], column?.values.at(-1)]).toEqual([1, "x"]);
  });
});

describe("the records of a file", () => {
  const cellsOf = (text: string) => read(text).columns.map(({ name, values }) => [name, ...values]);

  it.each<[string, string, unknown[][]]>([
    [
      "quotes",
      '"a","b,""c"\n"x\ny","z"w\n',
      [
        ["a", "x\ny"],
        ['b,"c', "zw"],
      ],
    ],
    ["blank lines and lines of blanks", "a\n\n  \nx\n\t\n", [["a", "x"]]],
    [
      "CRLF and no final newline",
      "a,b\r\nx,y",
      [
        ["a", "x"],
        ["b", "y"],
      ],
    ],
    ["a byte order mark", "\ufeffa\nx\n", [["a", "x"]]],
    [
      "a short row",
      "a,b\nx\n",
      [
        ["a", "x"],
        ["b", Number.NaN],
      ],
    ],
    [
      "repeated and missing names",
      "a,a,,a.1\nw,x,y,z\n",
      [
        ["a", "w"],
        ["a.2", "x"],
        ["Unnamed: 2", "y"],
        ["a.1", "z"],
      ],
    ],
    ["a quote inside a field", 'a\nx"y"\n', [["a", 'x"y"']]],
  ])("%s", (_, text, cells) => expect(cellsOf(text)).toEqual(cells));

  it("takes fields left of the header's for labels of the rows", () => {
    const frame = read("b\nx,1\ny,2\n");
    expect(frame.index).toEqual([["x", "y"]]);
    expect(frame.columns[0]?.values).toEqual([1, 2]);
  });

  it.each([
    ["an empty file", ""],
    ["blank lines only", "\n \n"],
    ["a later row that is too long", "a,b\n1,2\n1,2,3\n"],
    ["an open quote", 'a\n"x\n'],
  ])("refuses %s", (_, text) => expect(() => read(text)).toThrow());

  it("refuses what is not UTF-8", () => expect(() => readCsv(Buffer.from([0x61, 0x0a, 0xff]))).toThrow("UTF-8"));
});
