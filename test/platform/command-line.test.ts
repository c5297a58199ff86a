import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { commandLine, shellWord, showDatabase } from "../../src/platform/command-line.js";

afterEach(() => showDatabase(null));

describe("a value in a command line", () => {
  it.each([
    ["run_20260101-120000_ab12cd/12", "run_20260101-120000_ab12cd/12"],
    ["a@b.example", "a@b.example"],
    ["my file", "'my file'"],
    ["it's", "'it'\\''s'"],
    ["$(reboot)", "'$(reboot)'"],
    ["", "''"],
    ["~/x", "'~/x'"],
  ])("%j is written %s", (value, written) => {
    expect(shellWord(value)).toBe(written);
  });

  it("reaches the program as it is, whatever it holds", () => {
    const texts = fc.array(
      fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", "")),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(texts, (values) => {
        const line = values.map(shellWord).join(" ");
        const printed = execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
        expect(printed.split("\0").slice(0, -1)).toEqual(values);
      }),
      { numRuns: 20 },
    );
  });
});

it("a command line names the database that was chosen, at its end", () => {
  const line = () => commandLine`art-e show ${"latest/1"}`;
  expect(line()).toBe("art-e show latest/1");
  showDatabase("my mail/a.db");
  expect(line()).toBe("art-e show latest/1 --db 'my mail/a.db'");
});
