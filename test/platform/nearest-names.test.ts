import { expect, it } from "vitest";
import { didYouMean, nearestNames } from "../../src/platform/text.js";

it.each([
  ["rnu", ["run", "ask", "mcp"], ["run"]],
  ["exprot-traces", ["export-traces", "import"], ["export-traces"]],
  ["export", ["export-traces", "report"], ["export-traces", "report"]],
  ["BASELINE", ["baseline", "noop"], ["baseline"]],
  ["x", ["run", "ask"], []],
  ["frobnicate", ["run", "import"], []],
  ["--limt", ["--limit", "--list", "--lines", "--lint"], ["--limit", "--list", "--lint"]],
])("%s is near %j: %j", (mistyped, known, near) => expect(nearestNames(mistyped, known)).toEqual(near));

it("says nothing where nothing is near", () => {
  expect(didYouMean("rnu", ["run"])).toBe("Did you mean run? ");
  expect(didYouMean("frobnicate", ["run"])).toBe("");
});
