import { describe, expect, it } from "vitest";
import { type Line, QUESTIONS, workFolder } from "./art-e.js";

const { artE } = workFolder();

/** Refused with exit code 2: one line that says what is wrong, one that says what to do, and nothing else anywhere. */
async function refused(line: Line, message: string): Promise<void> {
  const { code, stdout, stderr } = await artE(line);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  const [said, hint, ...more] = stderr.split("\n");
  expect(said).toBe(`art-e: ${message}`);
  expect(hint).toMatch(/^ {7}\S.*\.$/);
  expect(more).toEqual([""]);
}

describe("a command line that means nothing is refused:", () => {
  it.concurrent.each([
    ["without a command", "", "No command is given."],
    ["with an unknown command", "frobnicate", "Unknown command: frobnicate."],
    ["with a misspelt flag", "run --limt 3", "Unknown flag: --limt."],
    ["without what a command acts on", "show", "show needs NAME."],
    ["with an unknown subcommand", "agents frob", "Unknown command: agents frob."],
  ])("%s", (_, line, message) => refused(line, message));
});

describe("a flag that cannot be used is named as it is written:", () => {
  it.concurrent.each<[Line, string]>([
    ["run -a x -l", "-l needs a value."],
    [["run", "-a", "x", "-l", ""], "-l: the value is empty."],
    ["run -a x -l many", "--limit: expected a whole number of at least 0."],
  ])("%s", (line, message) => refused(line, message));
});

describe("flags that contradict each other are refused before anything is opened:", () => {
  it.concurrent.each([
    ["import one -c two", "SOURCE one and --csv-path two name different sources."],
    ["run -a x --dataset f.csv --use-json", "--dataset names a file, --use-json the dataset on the hub."],
    ["eval-search --seed 4", "--seed is for --shuffle, which is not given."],
    ["export-traces --min-score 0.9 --max-score 0.1", "--min-score 0.9 is above --max-score 0.1."],
    [
      "export-traces --failed --band low",
      "--failed asks for tasks without a score, --band, --min-score and --max-score for tasks with one.",
    ],
    ["stats --corpus --run latest", "--corpus and --run ask for different figures."],
  ])("%s", (line, message) => refused(line, message));
});

describe("run is refused", () => {
  it.concurrent("without --agent", () => refused(`run --dataset ${QUESTIONS}`, "--agent is missing."));

  it.concurrent("with --workspace and no server that it would be one of", () =>
    refused("run -a baseline -w ws_1", "--workspace is for --api-url, which is not given."));
});

it("a mistyped agent is answered with the nearest one, after which all are listed", async () => {
  const { code, stderr } = await artE("agents show baselin");
  expect(code).toBe(2);
  expect(stderr).toMatch(/^art-e: There is no agent "baselin"\.\n {7}Did you mean baseline\? The agents are: /);
});

it("help COMMAND is COMMAND --help", async () => {
  const [help, flag] = await Promise.all([artE("help suite check"), artE("suite check --help")]);
  expect(help).toEqual(flag);
  expect((await artE("help")).stdout).toBe((await artE("--help")).stdout);
});

it("--json gives what was wrong as one line of JSON on stderr", async () => {
  const { code, stdout, stderr } = await artE("stats --run nobody --json");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(JSON.parse(stderr)).toEqual({
    error: { code: "db_missing", message: expect.any(String), hint: expect.any(String), exitCode: 2 },
  });
});

it("--verbose adds the stack to what was wrong", async () => {
  const { code, stderr } = await artE("run --verbose");
  expect(code).toBe(2);
  expect(stderr).toMatch(/^art-e: --agent is missing\.\n {7}.+\nUserError: .+\n {4}at /);
});
