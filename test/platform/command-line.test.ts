import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { commandLine, shellWord, showDatabase, splitShellWords } from "../../src/platform/command-line.js";
import { parseJsonOrNull } from "../../src/platform/json.js";
import { didYouMean, nearestNames } from "../../src/platform/near-names.js";

it.each([
  ["rnu", ["run", "ask", "mcp"], ["run"]],
  ["exprot-traces", ["export-traces", "import"], ["export-traces"]],
  ["export", ["export-traces", "report"], ["export-traces", "report"]],
  ["BASELINE", ["baseline", "noop"], ["baseline"]],
  ["a-b-c", ["a_b_c", "abd"], ["a_b_c", "abd"]],
  ["isOkAB", ["is_ok_a_b"], ["is_ok_a_b"]],
  ["x", ["run", "ask"], []],
  ["frobnicate", ["run", "import"], []],
  ["--retries", ["--metric"], []],
  ["--limt", ["--limit", "--list", "--lines", "--lint"], ["--limit", "--list", "--lint"]],
])("nearestNames for %s and %j returns %j", (mistyped, known, near) =>
  expect(nearestNames(mistyped, known)).toEqual(near),
);

it("didYouMean returns an empty string if no name is similar", () => {
  expect(didYouMean("rnu", ["run"])).toBe("Did you mean run? ");
  expect(didYouMean("frobnicate", ["run"])).toBe("");
});

it.each([
  ["white space separates words", "  python3\tagent.py  -x ", ["python3", "agent.py", "-x"]],
  ["quotes keep a word together", `'/my programs/node' "a b.mjs"`, ["/my programs/node", "a b.mjs"]],
  ["quotes of one kind are text within the other", `node -e 'run("y z")'`, ["node", "-e", 'run("y z")']],
  ["quotes join the text that touches them", `--name="b c"d e'f g'`, ["--name=b cd", "ef g"]],
  ["empty quotes are an empty word", `a "" ''`, ["a", "", ""]],
  ["nothing is expanded", "echo $HOME *.ts `x`", ["echo", "$HOME", "*.ts", "`x`"]],
  ["a backslash escapes the next character", "a\\ b \\\\ \\'c", ["a b", "\\", "'c"]],
  ["a quote within single quotes is written as in a shell", "echo 'it'\\''s'", ["echo", "it's"]],
  ["a backslash is text within single quotes", "'C:\\mail\\agent.exe'", ["C:\\mail\\agent.exe"]],
  ["a backslash escapes the next character within double quotes", '"a \\"b\\" \\n"', ['a "b" \\n']],
  ["a # is text", "a #b", ["a", "#b"]],
  ["an empty string contains no words", " ", []],
])("splitShellWords follows the rule that %s", (_, line, expected) => {
  expect(splitShellWords(line, "--command")).toEqual(expected);
});

it.each(["true 'open", 'a "b', `a 'b' "c'`])("splitShellWords rejects an unclosed quote (%s)", (line) => {
  expect(() => splitShellWords(line, "--command")).toThrow("--command: a quote is not closed.");
});

it("splitShellWords rejects a backslash at the end", () => {
  expect(() => splitShellWords("agent \\", "--command")).toThrow("--command: a backslash ends the command line.");
});

it("splitShellWords splits every line from commandLine into the original words", () => {
  const texts = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 10 });
  fc.assert(
    fc.property(texts, (words) => {
      expect(splitShellWords(words.map(shellWord).join(" "), "--command")).toEqual(words);
    }),
  );
});

it.each([
  ['{"a":[1]}', { a: [1] }],
  ["null", null],
  ["", null],
  ['{"a":', null],
  ["{'a':1}", null],
])("parseJsonOrNull reads %j as %j", (text, value) => {
  expect(parseJsonOrNull(text)).toEqual(value);
});

describe("commandLine", () => {
  afterEach(() => showDatabase(null));

  describe("quoting a value", () => {
    it.each([
      ["run_20260101-120000_ab12cd/12", "run_20260101-120000_ab12cd/12"],
      ["a@b.example", "a@b.example"],
      ["my file", "'my file'"],
      ["it's", "'it'\\''s'"],
      ["$(reboot)", "'$(reboot)'"],
      ["", "''"],
      ["~/x", "'~/x'"],
    ])("turns %j into %s", (value, written) => {
      expect(shellWord(value)).toBe(written);
    });

    it("lets every value reach the program unchanged", () => {
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

  it("appends the selected database", () => {
    const line = () => commandLine`art-e show ${"latest/1"}`;
    expect(line()).toBe("art-e show latest/1");
    showDatabase("my mail/a.db");
    expect(line()).toBe("art-e show latest/1 --db 'my mail/a.db'");
  });
});
