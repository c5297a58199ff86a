import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { readCsv } from "../../src/suites/formats/csv-frame.js";
import {
  correlate,
  decodeImage,
  normalizedHistogram,
  resizeByArea,
  resizeLinearly,
  toGreyscale,
} from "../../src/suites/formats/images.js";
import { haveEqualOutputs, matchingRatio, readNotebook } from "../../src/suites/formats/notebook.js";
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

const channel = (width: number, values: number[]) => ({
  width,
  height: values.length / width,
  values: Uint8Array.from(values),
});

describe("image functions", () => {
  it("read PNG files without their transparency, like OpenCV", () => {
    const png = new PNG({ width: 2, height: 1 });
    png.data = Buffer.from([255, 0, 0, 0, 10, 20, 30, 255]);
    const image = decodeImage(PNG.sync.write(png));
    expect([image?.width, ...(image?.red ?? []), ...(image?.green ?? []), ...(image?.blue ?? [])]).toEqual([
      2, 255, 10, 0, 20, 0, 30,
    ]);
    expect(image && [...toGreyscale(image)]).toEqual([76, 18]);
  });

  it("reject images that are invalid or too large", () => {
    expect(decodeImage(Buffer.from("x"))).toBeNull();
    const png = PNG.sync.write(new PNG({ width: 1, height: 1 }));
    expect(decodeImage(png.subarray(0, 40))).toBeNull();
    png.writeUInt32BE(0x7fffffff, 16);
    expect(decodeImage(png)).toBeNull();
  });

  it("shrink an image by the mean of the covered pixels", () => {
    expect([...resizeByArea(channel(4, [0, 10, 20, 30]), 2, 1).values]).toEqual([5, 25]);
    expect([...resizeByArea(channel(3, [0, 90, 30]), 2, 1).values]).toEqual([30, 50]);
    expect([...resizeByArea(channel(2, [1, 2, 4, 4]), 1, 1).values]).toEqual([3]);
  });

  it("interpolate between pixel centers", () => {
    expect([...resizeLinearly(channel(2, [0, 100]), 4, 1).values]).toEqual([0, 25, 75, 100]);
    expect([...resizeLinearly(channel(4, [0, 10, 20, 30]), 2, 1).values]).toEqual([5, 25]);
  });

  it("correlate histograms", () => {
    const [a, b] = [Uint8Array.from([1, 1, 2]), Uint8Array.from([2, 1, 1, 1, 1, 2])];
    expect(correlate(normalizedHistogram(a), normalizedHistogram(a))).toBe(1);
    expect(correlate(normalizedHistogram(a), normalizedHistogram(b))).toBeCloseTo(1, 6);
    expect(correlate(normalizedHistogram(a), normalizedHistogram(Uint8Array.from([9])))).toBeLessThan(0);
  });
});

describe("notebooks", () => {
  const read = (notebook: unknown) => readNotebook(Buffer.from(JSON.stringify(notebook)));
  const code = (...outputs: unknown[]) => ({ cell_type: "code", metadata: {}, source: ["a\n", "b"], outputs });
  const stream = (text: string | string[], name = "stdout") => ({ output_type: "stream", name, text });
  const data = (values: object) => ({ output_type: "display_data", metadata: {}, data: values });
  const notebookOf = (...cells: unknown[]) => ({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 });

  describe("readNotebook", () => {
    it("joins lines in sources, streams and data, but not in JSON, like nbformat", () => {
      const [cell] = read(
        notebookOf(code(stream(["1\n", "2"]), data({ "text/plain": ["x", "y"], "application/json": ["x"] }))),
      );
      expect(cell?.get("source")).toBe("a\nb");
      expect(cell?.get("outputs")).toMatchObject([
        new Map([
          ["output_type", "stream"],
          ["name", "stdout"],
          ["text", "1\n2"],
        ]),
        new Map<string, unknown>([
          ["output_type", "display_data"],
          ["metadata", new Map()],
          [
            "data",
            new Map<string, unknown>([
              ["text/plain", "xy"],
              ["application/json", ["x"]],
            ]),
          ],
        ]),
      ]);
    });

    it.each<[string, unknown]>([
      ["a notebook without cells", { metadata: {}, nbformat: 4 }],
      ["a notebook without metadata", { cells: [], nbformat: 4 }],
      ["a notebook with a cell that has no metadata", notebookOf({ cell_type: "raw", source: "" })],
      ["nbformat 3", { ...notebookOf(), nbformat: 3 }],
      ["a list", []],
    ])("rejects %s", (_, notebook) => expect(() => read(notebook)).toThrow());

    it("rejects a byte order mark, like Python's json module", () => {
      expect(() => readNotebook(Buffer.from(`\ufeff${JSON.stringify(notebookOf())}`))).toThrow();
    });
  });

  describe("haveEqualOutputs", () => {
    const areEqual = (a: unknown[], b: unknown[]) =>
      haveEqualOutputs(read(notebookOf(code(...a))), read(notebookOf(code(...b))));

    it.each<[string, unknown[], unknown[], boolean]>([
      ["lines and a single string", [stream(["1\n"])], [stream("1\n")], true],
      ["different streams and images", [stream("w", "stderr"), data({ "image/png": "A" })], [], true],
      ["pip's lines in the result", [stream("Successfully installed x\n"), stream("1")], [stream("1")], true],
      ["pip's lines in the gold notebook", [], [stream("Successfully installed x\n")], false],
      ["a stream that is split into two parts", [stream("1"), stream("2")], [stream("12")], false],
      ["text/plain", [data({ "text/plain": "1" })], [data({ "text/plain": "2" })], false],
      ["the data of an image", [data({ "text/plain": "1", "image/png": "A" })], [data({ "text/plain": "1" })], true],
    ])("compares %s", (_, result, gold, equal) => expect(areEqual(result, gold)).toBe(equal));

    it("throws an error for outputs of different kinds", () => {
      expect(() => areEqual([data({ "text/plain": "1" })], [stream("1")])).toThrow("data");
    });
  });
});

const areEqual = (a: string, b: string) => equalValues(parsePythonJson(a), parsePythonJson(b));

describe("parsePythonJson", () => {
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
  ])("compares %s and %s as %s", (a, b, equal) => expect(areEqual(a, b)).toBe(equal));

  it("keeps the order of keys that look like numbers", () => {
    expect([...(parsePythonJson('{"b":1,"2":1,"1":1}') as Map<string, unknown>).keys()]).toEqual(["b", "2", "1"]);
  });

  it.each(["", "x", "[1,]", "{1:2}", '"a\nb"', "01", "[1] 2", '"\\x"', '"', "[".repeat(100_000)])(
    "rejects %j",
    (text) => {
      expect(() => parsePythonJson(text)).toThrow();
    },
  );
});

describe("parseYaml", () => {
  it.each<[string, unknown]>([
    ["a: yes", new Map([["a", true]])],
    ["y: n", new Map([["y", "n"]])],
    ["a: 010", new Map([["a", 8n]])],
    ["a: 1e3", new Map([["a", "1e3"]])],
    ["a: 1.5", new Map([["a", 1.5]])],
    ["a: 1\na: 2", new Map([["a", 2n]])],
    ["", null],
  ])("reads %j like PyYAML", (text, value) => expect(parseYaml(text)).toEqual(value));

  it.each(["a: [1", "a: 1\n---\nb: 2\n", "a:\n\t- 1\n  b"])("rejects %j", (text) =>
    expect(() => parseYaml(text)).toThrow(),
  );
});

describe("Python's text functions", () => {
  it("strip NEL and no-break spaces, and keep a byte order mark", () => {
    expect(stripText("\u0085\u00a0 \ufeffa\x1f\n")).toBe("\ufeffa");
  });

  it("split lines at form feeds and separators too", () => {
    expect(splitLines("a\r\nb\fc\u2028d\n")).toEqual(["a", "b", "c", "d"]);
    expect(splitLines("")).toEqual([]);
  });

  it("order by code point", () => {
    expect(["\u{1f600}", "\uffee", "a"].sort(compareStrings)).toEqual(["a", "\uffee", "\u{1f600}"]);
  });

  it("drop bytes that are not UTF-8, but keep replacement characters that are in the file", () => {
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
  ])("format %j like str()", (value, text) => expect(formatValue(value)).toBe(text));
});

describe("matchingRatio", () => {
  const chars = (text: string) => [...text];

  it.each([
    ["abcd", "bcde", 0.75],
    ["private volatile", "private Thread", 0.6],
    ["", "", 1],
    ["a", "", 0],
    ["ab", "ba", 0.5],
  ])("compares %j and %j like difflib", (a, b, ratio) =>
    expect(matchingRatio(chars(a), chars(b))).toBeCloseTo(ratio, 12),
  );

  it("ignores popular lines of long files", () => {
    const long = Array.from({ length: 200 }, () => "same");
    expect(matchingRatio(["x", "same"], long)).toBe(0);
    expect(matchingRatio(["x", "same"], long.slice(1))).toBeCloseTo(2 / 201, 12);
  });
});

describe("readCsv", () => {
  const read = (text: string) => readCsv(Buffer.from(text));

  /** Type and values of the only column. */
  function readColumn(...cells: string[]) {
    const [column] = read(`n\n${cells.join("\n")}\n`).columns;
    return [column?.type, ...(column?.values ?? [])];
  }

  describe("column types of pandas", () => {
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
    ])("come out the same for %j", (cells, column) => expect(readColumn(...cells)).toEqual(column));

    it("use 17 digits for a float, including leading zeros", () => {
      expect(readColumn("0.30000000000000004")).toEqual(["float64", 0.3]);
      expect(readColumn("3.0000000000000004")).toEqual(["float64", 3.0000000000000004]);
    });

    it("equal object if the file has no rows", () => {
      expect(read("a,b\n").columns.map(({ type }) => type)).toEqual(["object", "object"]);
    });

    it("differ per chunk if the file is long, so that numbers and texts are mixed", () => {
      const [column] = read(`n\n${"1\n".repeat(2 ** 19)}x\n`).columns;
      expect(column?.type).toBe("object");
      expect([column?.values[0], column?.values.at(-1)]).toEqual([1, "x"]);
    });
  });

  describe("records of pandas", () => {
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
      ["blank lines, and lines of blanks", "a\n\n  \nx\n\t\n", [["a", "x"]]],
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
        "repeated and missing column names",
        "a,a,,a.1\nw,x,y,z\n",
        [
          ["a", "w"],
          ["a.2", "x"],
          ["Unnamed: 2", "y"],
          ["a.1", "z"],
        ],
      ],
      ["a quote inside a field", 'a\nx"y"\n', [["a", 'x"y"']]],
    ])("come out the same for %s", (_, text, cells) => expect(cellsOf(text)).toEqual(cells));

    it("turn extra fields on the left into row labels", () => {
      const frame = read("b\nx,1\ny,2\n");
      expect(frame.index).toEqual([["x", "y"]]);
      expect(frame.columns[0]?.values).toEqual([1, 2]);
    });

    it.each([
      ["an empty file", ""],
      ["only blank lines", "\n \n"],
      ["a later row that is too long", "a,b\n1,2\n1,2,3\n"],
      ["a quote that is never closed", 'a\n"x\n'],
    ])("cause an error for %s", (_, text) => expect(() => read(text)).toThrow());

    it("cause an error for text that is not UTF-8", () =>
      expect(() => readCsv(Buffer.from([0x61, 0x0a, 0xff]))).toThrow("UTF-8"));
  });
});
