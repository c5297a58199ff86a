import { describe, expect, it } from "vitest";
import { ids, readFlags } from "../../src/cli/flags/read-flags.js";
import { runSchema } from "../../src/cli/flags/run-flags.js";
import { questionsSchema } from "../../src/cli/flags/selection-flags.js";
import { refuseEmptyValues } from "../../src/cli/parser.js";
import { UserError } from "../../src/platform/errors.js";
import { refuseContradictions } from "../../src/questions/dataset.js";
import { type Line, QUESTIONS, workFolder } from "./art-e.js";

function thrownBy(work: () => unknown): UserError {
  try {
    work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("readFlags", () => {
  it.each([
    [{ limit: -1 }, "--limit: expected a whole number of at least 0."],
    [{ limit: 1.5 }, "--limit: expected a whole number of at least 0."],
    [{ limit: Number.NaN }, "--limit: expected a whole number of at least 0."],
    [{ minRealism: 1.1 }, "--min-realism: expected a number from 0 to 1."],
    [{ maxSources: 0 }, "--max-sources: expected a whole number of at least 1."],
    [{ ids: "1,two" }, "--ids: expected whole numbers, separated by commas."],
    [{ ids: "," }, "--ids: expected whole numbers, separated by commas."],
    [{ seed: -1 }, "--seed: expected a whole number from 0 to 4294967295."],
    [{ concurrency: "0" }, "--concurrency: expected auto, or a whole number from 1 to 9999."],
    [{ concurrency: "10000" }, "--concurrency: expected auto, or a whole number from 1 to 9999."],
    [{ concurrency: "many" }, "--concurrency: expected auto, or a whole number from 1 to 9999."],
    [{ rpm: 0 }, "--rpm: expected a number above 0, at most 9007199254740991."],
    [{ epochs: 0 }, "--epochs: expected a whole number from 1 to 1000."],
    [{ maxCost: 0 }, "--max-cost: expected a number above 0, at most 9007199254740991."],
    [{ maxFailures: "0" }, "--max-failures: expected at least 1, or a share from 1% to 100%."],
    [{ maxFailures: "101%" }, "--max-failures: expected at least 1, or a share from 1% to 100%."],
    [{ maxFailures: "few" }, "--max-failures: expected a number of tasks, or a share such as 5%."],
    [{ price: "3" }, "--price: expected IN,OUT or IN,OUT,CACHED: US dollars for a million tokens."],
    [{ maxTurns: 0 }, "--max-turns: expected a whole number from 1 to 1000."],
    [{ temperature: 2.1 }, "--temperature: expected a number from 0 to 2."],
    [{ taskTimeout: 0 }, "--task-timeout: expected a number above 0, at most 2147483."],
    [{ requestTimeout: 1e9 }, "--request-timeout: expected a number above 0, at most 2147483."],
    [{ split: "dev" }, "--split: expected train or test."],
    [{ cutoff: "tomorrow" }, "--cutoff: expected query_date or off."],
    [{ wireApi: "soap" }, "--wire-api: expected chat or responses."],
    [{ agent: "" }, "--agent: expected a text."],
    [{ name: "" }, "--name: expected a text."],
  ])("refuses the invalid value in %o", (flags, message) => {
    const error = thrownBy(() => readFlags("run", runSchema, flags));
    expect(error).toMatchObject({ message, hint: "See art-e run --help.", exitCode: 2 });
  });
});

it("readFlags accepts the limits of a range", () => {
  const flags = { limit: 0, minRealism: 0, maxSources: 1, temperature: 2, taskTimeout: 2_147_483 };
  expect(readFlags("run", runSchema, { ...flags, concurrency: "9999" })).toMatchObject({
    ...flags,
    concurrency: 9_999,
  });
  expect(readFlags("run", runSchema, { concurrency: "1", maxFailures: "100%" })).toMatchObject({
    concurrency: 1,
    maxFailures: { share: 1 },
  });
});

it("readFlags returns the defaults that --help shows", () => {
  expect(readFlags("run", runSchema, {})).toEqual({
    useJson: false,
    excludeKnownBad: false,
    shuffle: false,
    limit: 10,
    stats: false,
    tellTask: false,
    otlp: false,
    noContent: false,
    concurrency: "auto",
    epochs: 1,
    retryFailed: false,
    force: false,
    cache: false,
    dryRun: false,
    unsafeHostPython: false,
    watch: false,
    taskTimeout: 600,
    requestTimeout: 180,
    cutoff: "query_date",
    partialInboxes: false,
    noJudge: false,
    overwrite: false,
  });
});

describe("a flag that takes ids", () => {
  it.each([
    ["one", "7", [7]],
    ["several ids separated by commas", "3,1,2", [3, 1, 2]],
    ["several ids separated by commas and spaces", "3, 1 2", [3, 1, 2]],
  ])("accepts %s", (_, given, expected) => {
    expect(ids.parse(given)).toEqual(expected);
  });
});

it("refuseEmptyValues accepts an equals sign in a value", () => {
  expect(() => refuseEmptyValues(["run", "-l", "0", "--ids=1,2", "a = b"])).not.toThrow();
});

it("refuseContradictions accepts a flag that refines another one", () => {
  const given = { useJson: true, excludeKnownBad: true, shuffle: true, seed: 4 };
  expect(() => refuseContradictions(questionsSchema.parse(given))).not.toThrow();
  const file = { dataset: "copy.parquet", excludeKnownBad: true };
  expect(() => refuseContradictions(questionsSchema.parse(file))).not.toThrow();
});

describe("wrong usage", () => {
  const { artE } = workFolder();

  /** Expects exit code 2, a line with the fault, another with the next step, and no other output. */
  async function refused(
    line: Line,
    message: string,
    todo: unknown = expect.stringMatching(/^\S.*\.$/),
  ): Promise<void> {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const [said, hint, ...more] = stderr.split("\n       ").flatMap((part) => part.split("\n"));
    expect([said, hint, more]).toEqual([`art-e: ${message}`, todo, [""]]);
  }

  describe("an invalid command line", () => {
    it.each([
      ["--quiet", "No command is given.", "See art-e --help."],
      ["frobnicate", "Unknown command: frobnicate.", "See art-e --help."],
      ["rnu", "Unknown command: rnu.", "Did you mean run? See art-e --help."],
      ["run --modle-id x", "Unknown flag: --modle-id.", "Did you mean --model-id? See art-e run --help."],
      ["run --no-x=1", "Unknown flag: --no-x.", "See art-e run --help."],
      ["show", "show needs NAME.", "See art-e show --help."],
      ["show a b", "Unknown argument: b.", "See art-e show --help."],
      ["agents fly", "Unknown command: agents fly.", "See art-e agents --help."],
      ["agents clone", "agents clone needs ID and NEW_ID.", "See art-e agents clone --help."],
      ["agents clone a", "agents clone needs NEW_ID.", "See art-e agents clone --help."],
      ["agents list --model x", "agents list does not take --model.", "See art-e agents list --help."],
      ["agents list x", 'agents list does not take "x".', "See art-e agents list --help."],
    ])("is refused, with a suggestion: %s", refused);
  });

  describe("an unusable flag", () => {
    it.each<[Line, string]>([
      ["run -a x -l", "-l needs a value."],
      ["run --db", "--db needs a value."],
      [["run", "-a", "x", "-l", ""], "-l: the value is empty."],
      [["run", "-l", " "], "-l: the value is empty."],
      ["run --limit=", "--limit: the value is empty."],
      [["import", ""], "An argument is empty."],
      ["run -a x -l many", "--limit: expected a whole number of at least 0."],
    ])("is named as the user typed it: %s", (line, message) => refused(line, message));
  });

  describe("contradictory flags", () => {
    it.each([
      ["import one -c two", "SOURCE one and --csv-path two name different sources."],
      [
        "run -a x --dataset f.csv --use-json",
        "--dataset cannot be combined with --use-json, which selects the dataset on the hub.",
      ],
      [
        "run -a x --dataset f.csv --revision main",
        "--dataset cannot be combined with --revision, which selects the dataset on the hub.",
      ],
      ["eval-search --seed 4", "--seed requires --shuffle."],
      ["export-traces --min-score 0.9 --max-score 0.1", "--min-score 0.9 is above --max-score 0.1."],
      [
        "export-traces --failed --band low",
        "--failed asks for tasks without a score, --band, --min-score and --max-score for tasks with one.",
      ],
      ["stats --corpus --run latest", "--corpus and --run ask for different figures."],
    ])("are refused before any file is opened: %s", (line, message) => refused(line, message));
  });

  describe("art-e run", () => {
    it("is refused if --agent is missing", () => refused(`run --dataset ${QUESTIONS}`, "--agent is missing."));

    it("is refused if --workspace is given but no server", () =>
      refused("run -a baseline -w ws_1", "--workspace requires --api-url."));
  });

  it("is reported with the nearest agent and a list of all agents if an agent is mistyped", async () => {
    const { code, stderr } = await artE("agents show baselin");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: Unknown agent "baselin"\.\n {7}Did you mean baseline\? Available: /);
  });

  it("is explained by both help COMMAND and COMMAND --help", async () => {
    const [help, flag] = await Promise.all([artE("help suite check"), artE("suite check --help")]);
    expect(help).toEqual(flag);
    expect((await artE("help")).stdout).toBe((await artE("--help")).stdout);
  });

  it("is reported as one line of JSON on stderr if --json is given", async () => {
    const { code, stdout, stderr } = await artE("stats --run nobody --json");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "db_missing", message: expect.any(String), hint: expect.any(String), exitCode: 2 },
    });
  });

  it("is reported with its stack if --verbose is given", async () => {
    const { code, stderr } = await artE("run --verbose");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: --agent is missing\.\n {7}.+\nUserError: .+\n {4}at /);
  });
});
