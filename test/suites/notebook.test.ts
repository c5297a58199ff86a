import { describe, expect, it } from "vitest";
import { haveEqualOutputs, readNotebook } from "../../src/suites/formats/notebook.js";

const read = (notebook: unknown) => readNotebook(Buffer.from(JSON.stringify(notebook)));

const code = (...outputs: unknown[]) => ({ cell_type: "code", metadata: {}, source: ["a\n", "b"], outputs });
const stream = (text: string | string[], name = "stdout") => ({ output_type: "stream", name, text });
const data = (values: object) => ({ output_type: "display_data", metadata: {}, data: values });
const notebookOf = (...cells: unknown[]) => ({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 });

describe("a notebook as nbformat reads it", () => {
  it("joins lines of sources, streams and data, but not JSON", () => {
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
    ["no cells", { metadata: {}, nbformat: 4 }],
    ["no metadata", { cells: [], nbformat: 4 }],
    ["a cell without metadata", notebookOf({ cell_type: "raw", source: "" })],
    ["nbformat 3", { ...notebookOf(), nbformat: 3 }],
    ["a list", []],
  ])("refuses %s", (_, notebook) => expect(() => read(notebook)).toThrow());

  it("refuses a byte order mark, as json does", () => {
    expect(() => readNotebook(Buffer.from(`\ufeff${JSON.stringify(notebookOf())}`))).toThrow();
  });
});

describe("outputs of two notebooks", () => {
  const areEqual = (a: unknown[], b: unknown[]) =>
    haveEqualOutputs(read(notebookOf(code(...a))), read(notebookOf(code(...b))));

  it.each<[string, unknown[], unknown[], boolean]>([
    ["lines against a text", [stream(["1\n"])], [stream("1\n")], true],
    ["other streams and images", [stream("w", "stderr"), data({ "image/png": "A" })], [], true],
    ["pip's lines in the result", [stream("Successfully installed x\n"), stream("1")], [stream("1")], true],
    ["pip's lines in the gold", [], [stream("Successfully installed x\n")], false],
    ["a stream in two parts", [stream("1"), stream("2")], [stream("12")], false],
    ["text/plain", [data({ "text/plain": "1" })], [data({ "text/plain": "2" })], false],
    ["data of an image", [data({ "text/plain": "1", "image/png": "A" })], [data({ "text/plain": "1" })], true],
  ])("%s", (_, result, gold, equal) => expect(areEqual(result, gold)).toBe(equal));

  it("raises where kinds cross", () => {
    expect(() => areEqual([data({ "text/plain": "1" })], [stream("1")])).toThrow("data");
  });
});
