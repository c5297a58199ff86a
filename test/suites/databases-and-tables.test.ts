import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { CollectedFile } from "../../src/suites/functions/grading-function.js";
import { checkLocalDatabase } from "../../src/suites/functions/spider2v-databases.js";
import { compareTable } from "../../src/suites/functions/spider2v-tables.js";
import { relationships, sheetData, workbookParts, zipParts } from "./make-workbook.js";
import { temporaryFolder } from "./temporary-folder.js";
import { writeDatabase } from "./write-database.js";

async function create(path: string, type: string, statements: readonly string[]): Promise<CollectedFile> {
  await writeDatabase(path, type === "sqlite3" ? "sqlite" : "duckdb", statements);
  return new CollectedFile(path);
}

async function check(db_type: string, result: readonly string[], gold: readonly string[], options: JsonObject = {}) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "gold"));
  const own = await create(join(folder, "data.db"), db_type, result);
  const other = await create(join(folder, "gold", "data.db"), db_type, gold);
  return await checkLocalDatabase(own, other, { db_type, ...options });
}

const rows = (...values: string[]) => [
  "create table t(x int, y varchar)",
  ...values.map((row) => `insert into t values ${row}`),
];

describe.each(["sqlite3", "duckdb"])("checkLocalDatabase on %s", (type) => {
  const content = { check_type: ["table-schema-content"] };

  it.each<[string, string[], string[], JsonObject, number]>([
    ["only names by default", rows("(2,'b')"), rows("(1,'a')"), {}, 1],
    ["another table", [...rows(), "create table u(z int)"], rows(), {}, 0],
    [
      "another table, in addition to the targets",
      [...rows(), "create table u(z int)"],
      rows(),
      { table_targets: ["t"] },
      1,
    ],
    ["another view", [...rows(), "create view v as select 1"], rows(), {}, 0],
    [
      "another view, if only tables are compared",
      [...rows(), "create view v as select 1"],
      rows(),
      { check_type: ["table"] },
      1,
    ],
    ["columns", ["create table t(x int)"], rows(), { check_type: ["table-schema"] }, 0],
    ["equal rows", rows("(1,'a')", "(NULL,'b')"), rows("(1,'a')", "(NULL,'b')"), content, 1],
    ["the order of rows", rows("(2,'b')", "(1,'a')"), rows("(1,'a')", "(2,'b')"), content, 0],
    ["additional rows", rows("(1,'a')", "(2,'b')"), rows("(1,'a')"), content, 0],
    [
      "rows of a view",
      [...rows("(1,'a')"), "create view v as select x from t"],
      [...rows("(1,'a')"), "create view v as select t.x from t"],
      { check_type: ["view-schema-content"] },
      1,
    ],
  ])("compares %s", async (_, result, gold, options, score) =>
    expect(await check(type, result, gold, options)).toBe(score),
  );

  it("scores an invalid or missing file 0", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "no.db"), "not a database");
    const gold = await create(join(folder, "data.db"), type, rows());
    expect(await checkLocalDatabase(new CollectedFile(join(folder, "no.db")), gold, { db_type: type })).toBe(0);
    expect(await checkLocalDatabase(null, gold, { db_type: type })).toBe(0);
    await expect(async () => checkLocalDatabase(gold, undefined, { db_type: type })).rejects.toThrow();
    await expect(async () => checkLocalDatabase(gold, gold, { db_type: "oracle" })).rejects.toThrow("oracle");
  });
});

describe("checkLocalDatabase on DuckDB", () => {
  it("selects the specified schema, and compares value types exactly", async () => {
    const of = (type: string, value: string) => [
      "create schema s",
      `create table s.t(x ${type})`,
      `insert into s.t values (${value})`,
    ];
    const options = { schema_name: "s", check_type: ["table-schema-content"] };
    expect(await check("duckdb", of("decimal(4,2)", "1.50"), of("decimal(4,2)", "1.5"), options)).toBe(1);
    expect(
      await check("duckdb", of("timestamp", "'2024-01-01 00:00:01'"), of("timestamp", "'2024-01-01'"), options),
    ).toBe(0);
    expect(await check("duckdb", of("double", "'nan'"), of("double", "'nan'"), options)).toBe(0);
    expect(await check("duckdb", rows(), of("int", "1"), options)).toBe(0);
  });

  it("does not read other files through a view", async () => {
    const secret = join(temporaryFolder(), "secret.csv");
    writeFileSync(secret, "x\n1\n");
    const view = [`create view v as select * from read_csv('${secret}')`];
    expect(existsSync(secret)).toBe(true);
    expect(await check("duckdb", view, view, { check_type: ["view"] })).toBe(1);
    expect(await check("duckdb", view, view, { check_type: ["view-schema-content"] })).toBe(0);
  });
});

type Parts = Record<string, string>;

const BOTH = { sheet_idx0: 0, sheet_idx1: "EI0" };

async function compare(result: Parts | Buffer, expected: Parts, ...rules: JsonObject[]): Promise<number> {
  const folder = temporaryFolder();
  const write = (name: string, parts: Parts | Buffer) => {
    const path = join(folder, name);
    writeFileSync(path, Buffer.isBuffer(parts) ? parts : zipParts(parts));
    return new CollectedFile(path);
  };
  return await compareTable(write("result.xlsx", result), write("gold.xlsx", expected), { rules });
}

const cells = (...rows: Parameters<typeof sheetData>[0][number][]) => workbookParts(sheetData(rows));

describe("sheet_data", () => {
  const rule = { type: "sheet_data", ...BOTH };
  const equal: [string, Parts, Parts][] = [
    ["digits as text like numbers", cells(["n"], ["1"], ["2"]), cells(["n"], [1], [2])],
    ["1.0 like 1", cells(["n"], ["<c><v>1.0</v></c>"]), cells(["n"], [1])],
    ["numbers with four equal digits as equal", cells(["n"], [1.00001]), cells(["n"], [1.00002])],
    ["NA like an empty cell", cells(["n", "m"], ["NA", 1]), cells(["n", "m"], [null, 1])],
    ["errors like empty cells", cells(["n", "m"], ['<c t="e"><v>#DIV/0!</v></c>', 1]), cells(["n", "m"], [null, 1])],
    ["TRUE as text like a boolean", cells(["b"], ["TRUE"]), cells(["b"], ['<c t="b"><v>1</v></c>'])],
    ["empty rows at the end as missing", cells(["n"], [1], [null], [""]), cells(["n"], [1])],
    ["a shared string with runs like a string", withStrings("<si><r><t>a</t></r><r><t>b</t></r></si>"), cells(["ab"])],
    ["an escaped character like the character", cells(["a&#38;&lt;"]), withStrings("<si><t>a&amp;&#x3c;</t></si>")],
  ];

  it.each(equal)("treats like pandas %s", async (_, result, expected) =>
    expect(await compare(result, expected, rule)).toBe(1),
  );

  const different: [string, Parts, Parts][] = [
    ["a float column and an integer column", cells(["n"], [1], [1.5]), cells(["n"], [1], [2])],
    [
      "integers, and floats because of a missing value",
      cells(["n", "m"], [1, 1], [null, 1]),
      cells(["n", "m"], [1, 1], [2, 1]),
    ],
    ["headers in another case", cells(["N"], [1]), cells(["n"], [1])],
    ["an empty first row, which is the header,", cells([null], ["n"], [1]), cells(["n"], [1])],
    [
      "a formula that was not calculated, and its value,",
      cells(["n"], ["<c><f>1+1</f></c>"], [3]),
      cells(["n"], [2], [3]),
    ],
    ["a date and its number", withDate(), cells(["d"], [45292])],
  ];

  it.each(different)("treats %s as different", async (_, result, expected) =>
    expect(await compare(result, expected, rule)).toBe(0),
  );

  it("treats numbers like numpy, rounded to the requested precision", async () => {
    const [a, b] = [cells(["n"], [0.125]), cells(["n"], [0.12])];
    expect(await compare(a, b, { ...rule, precision: 2 })).toBe(1);
    expect(await compare(a, b, { ...rule, precision: 3 })).toBe(0);
  });

  it("scores a missing sheet 0 in the result, but raises an error for one in the gold workbook", async () => {
    const book = cells(["n"]);
    expect(await compare(book, book, { ...rule, sheet_idx0: 4 })).toBe(0);
    expect(await compare(book, book, { ...rule, sheet_idx0: "RNSheet1", sheet_idx1: "ENSheet1" })).toBe(1);
    await expect(compare(book, book, { ...rule, sheet_idx1: "EI4" })).rejects.toThrow("does not have the sheet");
  });

  function withStrings(items: string): Parts {
    const sheet = sheetData([['<c t="s"><v>0</v></c>']]);
    return workbookParts(sheet, { "xl/sharedStrings.xml": `<sst>${items}</sst>` });
  }

  function withDate(): Parts {
    const styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>';
    return workbookParts(sheetData([["d"], ['<c s="1"><v>45292</v></c>']]), { "xl/styles.xml": styles });
  }
});

describe("compareTable", () => {
  const chart = (kind: string, title: string, reference = "Sheet1!$A$1:$A$2"): Parts =>
    workbookParts(sheetData([["n"]]), {
      "xl/worksheets/_rels/sheet1.xml.rels": relationships({ r1: ["drawing", "../drawings/drawing1.xml"] }),
      "xl/drawings/drawing1.xml":
        '<wsDr xmlns:c="c" xmlns:r="r"><oneCellAnchor><graphicFrame><graphic><graphicData><c:chart r:id="r1"/></graphicData></graphic></graphicFrame></oneCellAnchor></wsDr>',
      "xl/drawings/_rels/drawing1.xml.rels": relationships({ r1: ["chart", "/xl/charts/chart1.xml"] }),
      "xl/charts/chart1.xml": `<chartSpace><chart><title><tx><rich><p><r><t>${title}</t></r></p></rich></tx></title><plotArea><${kind}><ser><cat><strRef><f>${reference}</f></strRef></cat><val><numRef><f>Sheet1!$B$1</f></numRef></val></ser></${kind}></plotArea><legend/></chart></chartSpace>`,
    });
  const ofChart = (...props: string[]) => ({ type: "chart", ...BOTH, chart_props: props });

  it("compares the series of charts and the rule's properties", async () => {
    const bar = chart("barChart", "T");
    expect(await compare(bar, chart("lineChart", "T"), ofChart("title", "legend"))).toBe(1);
    expect(await compare(bar, chart("lineChart", "T"), ofChart("type"))).toBe(0);
    expect(await compare(bar, chart("barChart", "U"), ofChart("title"))).toBe(0);
    expect(await compare(bar, chart("barChart", "T", "'Sheet1'!$A$1:$A$2"), ofChart())).toBe(0);
    expect(await compare(cells(["n"]), bar, ofChart())).toBe(0);
    expect(await compare(cells(["n"]), cells(["n"]), { ...ofChart(), sheet_idx0: 9 })).toBe(1);
  });

  const pivot = (subtotal: string, hidden: string, last = "C9"): Parts =>
    workbookParts(sheetData([["n"]]), {
      "xl/worksheets/_rels/sheet1.xml.rels": relationships({ r1: ["pivotTable", "../pivotTables/pivotTable1.xml"] }),
      "xl/pivotTables/pivotTable1.xml": `<pivotTableDefinition cacheId="7" name="p"><pivotFields><pivotField/><pivotField><items><item x="0"${hidden}/><item t="default"/></items></pivotField><pivotField/></pivotFields><rowFields><field x="1"/></rowFields><dataFields><dataField fld="2" subtotal="${subtotal}"/></dataFields></pivotTableDefinition>`,
      "xl/pivotCache/cache1.xml": `<pivotCacheDefinition><cacheSource type="worksheet"><worksheetSource ref="A1:${last}" sheet="Sheet1"/></cacheSource></pivotCacheDefinition>`,
    });
  const ofPivot = (...props: string[]) => ({ type: "pivot_table", ...BOTH, pivot_props: props });

  it("compares the source of pivot tables and the rule's properties", async () => {
    const sum = pivot("sum", "");
    expect(await compare(sum, pivot("count", ""), ofPivot("row_fields", "col_fields", "filter"))).toBe(1);
    expect(await compare(sum, pivot("count", ""), ofPivot("data_fields"))).toBe(0);
    expect(await compare(sum, pivot("sum", ' h="1"'), ofPivot("filter"))).toBe(0);
    expect(await compare(sum, pivot("sum", "", "C10"), ofPivot())).toBe(0);
  });

  const styled = (formats = "", value: string | number = 2): Parts =>
    workbookParts(sheetData([[1], [value], ['<c s="1"><v>3</v></c>']]) + formats, {
      "xl/styles.xml":
        '<styleSheet><fonts><font><color rgb="FF000000"/></font><font><b/><color theme="1"/></font></fonts><cellXfs><xf fontId="0"/><xf fontId="1"/></cellXfs><dxfs><dxf><font><color rgb="FFFF0000"/></font></dxf></dxfs></styleSheet>',
    });
  const condition = (formula: string, type = "expression") =>
    `<conditionalFormatting sqref="A1:A3"><cfRule type="${type}" dxfId="0"><formula>${formula}</formula></cfRule></conditionalFormatting>`;
  const ofStyle = { type: "style", ...BOTH, props: ["font_color", "font_bold"] };

  it("compares styles after conditional formats", async () => {
    expect(await compare(styled(), styled("", 5), ofStyle)).toBe(1);
    expect(await compare(styled(condition("$A1=MAX($A$1:$A$3)")), styled(condition("$A1&gt;2")), ofStyle)).toBe(1);
    expect(await compare(styled(condition("$A1=MAX($A$1:$A$3)")), styled(condition("$A1&gt;1")), ofStyle)).toBe(0);
    expect(await compare(styled(condition("$A1&gt;9")), styled(), ofStyle)).toBe(1);
    await expect(compare(styled(condition("1", "cellIs")), styled(), ofStyle)).rejects.toThrow("cellIs");
  });

  it("includes merged cells in the size of a sheet, and reads them as empty", async () => {
    const merged = (ref: string) => styled(`<mergeCells><mergeCell ref="${ref}"/></mergeCells>`);
    expect(await compare(merged("A1:B1"), merged("B1:B2"), ofStyle)).toBe(1);
    expect(await compare(merged("A1:B1"), styled(), ofStyle)).toBe(0);
    expect(await compare(merged("A2:A3"), styled(), ofStyle)).toBe(0);
  });

  it("checks one cell, and finds no value if it is an inline string", async () => {
    const check = (props: JsonObject) => ({ type: "check_cell", sheet_idx: 0, coordinate: "A3", props });
    expect(await compare(styled(), styled(), check({ value: { method: "eq", ref: 3 } }))).toBe(1);
    expect(await compare(styled(), styled(), check({ font_bold: { method: "eq", ref: false } }))).toBe(0);
    expect(await compare(cells([1], [1], ["a"]), styled(), check({ value: { method: "eq", ref: "a" } }))).toBe(0);
    expect(await compare(styled(), styled(), check({ value: { method: "approx:0.5", ref: 3.4 } }))).toBe(1);
  });
});

describe("compareTable on an invalid workbook", () => {
  const sound = cells(["n"]);
  const names = { type: "sheet_name" };

  it.each<[string, Parts | Buffer]>([
    ["text", Buffer.from("not a zip")],
    ["a document type", { ...sound, "xl/workbook.xml": `<!DOCTYPE a [<!ENTITY b "c">]>${sound["xl/workbook.xml"]}` }],
    ["broken XML", { ...sound, "xl/workbook.xml": "<workbook><sheets></workbook>" }],
    ["a zip bomb", zipParts({ ...sound, "xl/big.xml": " ".repeat(130 * 1024 * 1024) })],
  ])("scores %s as 0 if it is the result", async (_, result) => expect(await compare(result, sound, names)).toBe(0));

  it("raises for an unknown rule", async () => {
    await expect(compare(sound, sound, { type: "colour" })).rejects.toThrow("unknown rule type");
    expect(await compare(sound, sound, names)).toBe(1);
  });
});
