import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import {
  count,
  duration,
  type FittedColumn,
  fittedTable,
  share,
  summaryBox,
  table,
  truncated,
  usd,
} from "../../src/text/format.js";

const COLUMNS: readonly FittedColumn[] = [
  { title: "id" },
  { title: "name", least: 6 },
  { title: "model", least: 5, leaveOut: 1 },
  { title: "tags", leaveOut: 2 },
];

const ROWS = [
  ["1", "a name that is long", "openai/gpt-5.1", "nightly"],
  ["22", "short", "offline", ""],
];

it.each([
  [null, [], "1   a name that is long  openai/gpt-5.1  nightly"],
  [48, [], "1   a name that is long  openai/gpt-5.1  nightly"],
  [40, [], "1   a name that…  openai/gpt-5…  nightly"],
  [25, ["tags"], "1   a name t…  openai/gp…"],
  [14, ["tags", "model"], "1   a name th…"],
  [3, ["tags", "model"], "1   a nam…"],
])("fittedTable in %s columns omits %j", (width, left, line) => {
  const fitted = fittedTable(COLUMNS, ROWS, width);
  expect(fitted.left).toEqual(left);
  expect(fitted.text.split("\n")[2]).toBe(line);
});

it("fittedTable never exceeds the terminal's width, unless the required columns do", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { minLength: 4, maxLength: 4 })),
      (width, rows) => {
        const { text, left } = fittedTable(COLUMNS, rows, width);
        const widest = Math.max(...text.split("\n").map((line) => stringWidth(line)));
        if (left.length < 2) expect(widest).toBeLessThanOrEqual(width);
      },
    ),
  );
});

describe("a table of characters that take up two columns or none", () => {
  const cells = ["日本語の件名", "👩‍👩‍👧 family", "e\u0301te\u0301", "ascii"];

  it("aligns its columns", () => {
    const lines = table(
      ["subject", "n"],
      cells.map((cell) => [cell, "1"]),
    ).split("\n");
    expect(lines.slice(2).map((line) => stringWidth(line.slice(0, line.lastIndexOf("1"))))).toEqual([14, 14, 14, 14]);
  });

  it("truncates between characters, to the width in columns", () => {
    const columns = [{ title: "s", least: 4 }, { title: "n" }];
    const shown = fittedTable(
      columns,
      cells.map((cell) => [cell, "1"]),
      9,
    ).text.split("\n");
    expect(shown.slice(2)).toEqual(["日本…   1", "👩‍👩‍👧 fa…  1", "e\u0301te\u0301     1", "ascii   1"]);
  });
});

describe("an unknown number", () => {
  it("becomes a dash", () => expect(share(null)).toBe("-"));
  it('becomes "unknown" if it is a price', () => expect(usd(null)).toBe("unknown"));
});

it.each([
  [0, "0"],
  [999, "999"],
  [1_000, "1,000"],
  [517_401, "517,401"],
])("count formats %d as %s", (value, text) => expect(count(value)).toBe(text));

it.each([
  ["12345", "12345"],
  ["123456", "1234…"],
  // The cut splits the emoji, whose half is not a character.
  ["123😀56", "123\ufffd…"],
])("truncated shortens %s to %s, which has at most 5 characters", (text, shown) =>
  expect(truncated(text, 5)).toBe(shown),
);

it.each([
  [0, "0.000"],
  [0.78249, "0.782"],
  [1, "1.000"],
])("share formats %d as %s", (value, text) => expect(share(value)).toBe(text));

it.each([
  [0, "$0.00"],
  [0.000123456, "$0.000123"],
  [0.0999, "$0.0999"],
  [0.5, "$0.500"],
  [1, "$1.00"],
  [55.194, "$55.19"],
])("usd formats %d as %s", (value, text) => expect(usd(value)).toBe(text));

it.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [1_000, "1.0 s"],
  [59_900, "59.9 s"],
  [60_000, "1:00 min"],
  [61_499, "1:01 min"],
  [3_599_000, "59:59 min"],
  [3_600_000, "1:00:00 h"],
  [90_061_000, "25:01:01 h"],
])("duration formats %d ms as %s", (ms, text) => expect(duration(ms)).toBe(text));

it.each([
  [999.6, "1.0 s"],
  [59_960, "1:00 min"],
])("duration rounds %d ms up to the next unit (%s)", (ms, text) => expect(duration(ms)).toBe(text));

it("summaryBox aligns its values in one column, below a title between two rules", () => {
  const rule = "═".repeat(60);
  const rows = [
    ["A", "1"],
    ["Longer label", "2"],
  ] as const;
  expect(summaryBox("Title", rows)).toBe([rule, "Title", rule, "A:            1", "Longer label: 2", rule].join("\n"));
});
