import fc from "fast-check";
import { expect, it } from "vitest";
import { type FittedColumn, fittedTable } from "../../src/text/format.js";

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
])("in %s columns leaves out %j", (width, left, line) => {
  const fitted = fittedTable(COLUMNS, ROWS, width);
  expect(fitted.left).toEqual(left);
  expect(fitted.text.split("\n")[2]).toBe(line);
});

it("is never wider than the terminal, unless what must be shown is", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.array(fc.string({ maxLength: 20 }), { minLength: 4, maxLength: 4 })),
      (width, rows) => {
        const { text, left } = fittedTable(COLUMNS, rows, width);
        const widest = Math.max(...text.split("\n").map((line) => line.length));
        if (left.length < 2) expect(widest).toBeLessThanOrEqual(width);
      },
    ),
  );
});
