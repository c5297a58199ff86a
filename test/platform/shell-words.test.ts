import { expect, it } from "vitest";
import { splitShellWords } from "../../src/platform/text.js";

it.each([
  ["white space separates", "  python3\tagent.py  -x ", ["python3", "agent.py", "-x"]],
  ["quotes keep a word together", `'/my programs/node' "a b.mjs"`, ["/my programs/node", "a b.mjs"]],
  ["quotes of one kind are text within the other", `node -e 'run("y z")'`, ["node", "-e", 'run("y z")']],
  ["quotes join what touches them", `--name="b c"d e'f g'`, ["--name=b cd", "ef g"]],
  ["empty quotes are an empty word", `a "" ''`, ["a", "", ""]],
  ["nothing is expanded", "echo $HOME *.ts \\ `x`", ["echo", "$HOME", "*.ts", "\\", "`x`"]],
  ["nothing has no words", " ", []],
])("%s", (_, line, expected) => {
  expect(splitShellWords(line, "--command")).toEqual(expected);
});

it.each(["true 'open", 'a "b', `a 'b' "c'`])("a quote that is not closed is refused: %s", (line) => {
  expect(() => splitShellWords(line, "--command")).toThrow("--command: a quote is not closed.");
});
