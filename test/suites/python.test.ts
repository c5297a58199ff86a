import { describe, expect, it } from "vitest";
import { matchingRatio } from "../../src/suites/formats/notebook.js";
import {
  compareStrings,
  decodeTextLeniently,
  equalValues,
  formatValue,
  parsePythonJson,
  parseYaml,
  splitLines,
  stripText,
} from "../../src/suites/formats/python-values.js";

const areEqual = (a: string, b: string) => equalValues(parsePythonJson(a), parsePythonJson(b));

describe("JSON as Python reads it", () => {
  it.each([
    ["1", "1.0", true],
    ["true", "1", true],
    ["9007199254740993", "9007199254740992", false],
    ["9007199254740993", "9007199254740993.0", false],
    ['{"b":1,"a":[2]}', '{"a":[2.0],"b":1}', true],
    ["[1,2]", "[2,1]", false],
    ["NaN", "NaN", false],
    ["Infinity", "1e999", true],
    ['{"a":1,"a":2}', '{"a":2}', true],
    ['"\\u0041\\""', '"A\\""', true],
    ["null", "false", false],
  ])("%s and %s: %s", (a, b, equal) => expect(areEqual(a, b)).toBe(equal));

  it("keeps the order of keys that look like numbers", () => {
    expect([...(parsePythonJson('{"b":1,"2":1,"1":1}') as Map<string, unknown>).keys()]).toEqual(["b", "2", "1"]);
  });

  it.each(["", "x", "[1,]", "{1:2}", '"a\nb"', "01", "[1] 2", '"\\x"', '"', "[".repeat(100_000)])(
    "refuses %j",
    (text) => {
      expect(() => parsePythonJson(text)).toThrow();
    },
  );
});

describe("YAML as PyYAML reads it", () => {
  it.each<[string, unknown]>([
    ["a: yes", new Map([["a", true]])],
    ["y: n", new Map([["y", "n"]])],
    ["a: 010", new Map([["a", 8n]])],
    ["a: 1e3", new Map([["a", "1e3"]])],
    ["a: 1.5", new Map([["a", 1.5]])],
    ["a: 1\na: 2", new Map([["a", 2n]])],
    ["", null],
  ])("%j", (text, value) => expect(parseYaml(text)).toEqual(value));

  it.each(["a: [1", "a: 1\n---\nb: 2\n", "a:\n\t- 1\n  b"])("refuses %j", (text) =>
    expect(() => parseYaml(text)).toThrow(),
  );
});

describe("text as Python handles it", () => {
  it("strips NEL and no-break spaces, and keeps a byte order mark", () => {
    expect(stripText("\u0085\u00a0 \ufeffa\x1f\n")).toBe("\ufeffa");
  });

  it("splits lines at form feeds and separators too", () => {
    expect(splitLines("a\r\nb\fc\u2028d\n")).toEqual(["a", "b", "c", "d"]);
    expect(splitLines("")).toEqual([]);
  });

  it("orders by code point", () => {
    expect(["\u{1f600}", "\uffee", "a"].sort(compareStrings)).toEqual(["a", "\uffee", "\u{1f600}"]);
  });

  it("drops bytes that are not UTF-8, and keeps a replacement character of the file", () => {
    expect(
      decodeTextLeniently(Buffer.concat([Buffer.from("a\ufffdé"), Buffer.from([0xff, 0xe9]), Buffer.from("b\r\n")])),
    ).toBe("a\ufffdéb\n");
  });

  it.each<[Parameters<typeof formatValue>[0], string]>([
    [null, "None"],
    [true, "True"],
    [["it's", 1, null], '["it\'s", 1, None]'],
    [{ a: [false] }, "{'a': [False]}"],
    [1e-7, "1e-07"],
  ])("writes %j as str() does", (value, text) => expect(formatValue(value)).toBe(text));
});

describe("the ratio of difflib's SequenceMatcher", () => {
  const chars = (text: string) => [...text];

  it.each([
    ["abcd", "bcde", 0.75],
    ["private volatile", "private Thread", 0.6],
    ["", "", 1],
    ["a", "", 0],
    ["ab", "ba", 0.5],
  ])("%j %j", (a, b, ratio) => expect(matchingRatio(chars(a), chars(b))).toBeCloseTo(ratio, 12));

  it("leaves out popular lines of long files", () => {
    const long = Array.from({ length: 200 }, () => "same");
    expect(matchingRatio(["x", "same"], long)).toBe(0);
    expect(matchingRatio(["x", "same"], long.slice(1))).toBeCloseTo(2 / 201, 12);
  });
});
