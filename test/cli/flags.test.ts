import { describe, expect, it } from "vitest";
import { runSchema } from "../../src/cli/commands/run-flags.js";
import { refuseEmptyValues, usageError } from "../../src/cli/parser.js";
import { ids, readFlags } from "../../src/cli/read-flags.js";
import { datasetSchema, selectionSchema } from "../../src/cli/selection-flags.js";
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

describe("a value out of its range is refused by its flag's name:", () => {
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
  ])("%o", (flags, message) => {
    const error = thrownBy(() => readFlags("run", runSchema, flags));
    expect(error).toMatchObject({ message, hint: "See art-e run --help.", exitCode: 2 });
  });
});

it("the borders of a range are in it", () => {
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

it("run without flags is what --help says it is", () => {
  expect(readFlags("run", runSchema, {})).toEqual({
    split: "test",
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

describe("--ids are read", () => {
  it.each([
    ["one", "7", [7]],
    ["several with commas", "3,1,2", [3, 1, 2]],
    ["several with commas and spaces", "3, 1 2", [3, 1, 2]],
  ])("from %s", (_, given, expected) => {
    expect(ids.parse(given)).toEqual(expected);
  });
});

it("an empty value is refused, with its flag where it has one", () => {
  const message = (args: string[]) => thrownBy(() => refuseEmptyValues(args)).message;
  expect(message(["run", "--limit="])).toBe("--limit: the value is empty.");
  expect(message(["run", "-l", " "])).toBe("-l: the value is empty.");
  expect(message(["import", ""])).toBe("An argument is empty.");
  expect(() => refuseEmptyValues(["run", "-l", "0", "--ids=1,2", "a = b"])).not.toThrow();
});

describe("a complaint of the parser", () => {
  const message = (complaint: string, usage: string | null, ...args: string[]) =>
    usageError(complaint, args, usage === null ? null : { usage, known: [] }, []).message;

  it("names flags and arguments as they were written", () => {
    expect(message("Unknown arguments: no-x, noX", "run", "run", "--no-x=1")).toBe("Unknown flag: --no-x.");
    expect(message("Unknown argument: rum", null, "rum")).toBe("Unknown command: rum.");
    expect(message("Unknown argument: b", "show <name>", "show", "a", "b")).toBe("Unknown argument: b.");
    expect(message("Not enough arguments following: db", "run", "run", "--db")).toBe("--db needs a value.");
    expect(message("Not enough arguments following: l", "run", "run", "-l")).toBe("-l needs a value.");
  });

  it("names the arguments that are missing", () => {
    const missing = (got: number) =>
      message(`Not enough non-option arguments: got ${got}, need at least 2`, "agents clone <id> <new_id>");
    expect(missing(0)).toBe("agents clone needs ID and NEW_ID.");
    expect(missing(1)).toBe("agents clone needs NEW_ID.");
  });

  it("names the subcommand that does not take a flag or a word, and the group that lacks a subcommand", () => {
    const parent = { usage: "agents" };
    const known = ["list", "create"];
    const of = (complaint: string, ...args: string[]) =>
      usageError(complaint, args, { usage: "agents list", parent, known: [] }, []);
    expect(of("Unknown argument: model", "agents", "list", "--model", "x").message).toBe(
      "agents list does not take --model.",
    );
    expect(of("Unknown argument: x", "agents", "list", "x").message).toBe('agents list does not take "x".');
    expect(
      usageError("Unknown argument: fly", ["agents", "fly"], { usage: "agents", isGroup: true, known }, []).message,
    ).toBe("Unknown command: agents fly.");
  });

  it("says what was probably meant", () => {
    const hint = (word: string, known: string[], path: string | null) =>
      usageError(`Unknown argument: ${word}`, [word], path === null ? null : { usage: path, known }, known).hint;
    expect(hint("rnu", ["run", "runs", "ask"], null)).toBe("Did you mean run? See art-e --help.");
    expect(hint("--modle-id", ["--model-id", "--model-provider", "--db"], "run")).toBe(
      "Did you mean --model-id? See art-e run --help.",
    );
    expect(hint("export", ["export-traces", "report"], null)).toBe(
      "Did you mean export-traces or report? See art-e --help.",
    );
    expect(hint("frobnicate", ["run", "import"], null)).toBe("See art-e --help.");
  });

  it("points to the help of the command", () => {
    expect(usageError("Unknown argument: b", ["show", "b"], { usage: "show <name>", known: [] }, []).hint).toBe(
      "See art-e show --help.",
    );
    expect(usageError("No command is given.", [], null, []).hint).toBe("See art-e --help.");
  });
});

describe("flags contradict each other:", () => {
  const flags = datasetSchema.extend(selectionSchema.shape);

  it.each([
    [{ dataset: "f.csv", useJson: true }, "--dataset names a file, --use-json the dataset on the hub."],
    [{ dataset: "f.csv", revision: "main" }, "--dataset names a file, --revision the dataset on the hub."],
    [{ seed: 4 }, "--seed is for --shuffle, which is not given."],
  ])("%o", (given, message) => {
    expect(thrownBy(() => refuseContradictions(flags.parse(given)))).toMatchObject({ message, exitCode: 2 });
  });

  it("but not --use-json or --dataset with --exclude-known-bad, --shuffle with --seed", () => {
    const given = { useJson: true, excludeKnownBad: true, shuffle: true, seed: 4 };
    expect(() => refuseContradictions(flags.parse(given))).not.toThrow();
    expect(() => refuseContradictions(flags.parse({ dataset: "copy.parquet", excludeKnownBad: true }))).not.toThrow();
  });
});

describe("wrong usage", () => {
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
    it.each([
      ["without a command", "", "No command is given."],
      ["with an unknown command", "frobnicate", "Unknown command: frobnicate."],
      ["with a misspelt flag", "run --limt 3", "Unknown flag: --limt."],
      ["without what a command acts on", "show", "show needs NAME."],
      ["with an unknown subcommand", "agents frob", "Unknown command: agents frob."],
    ])("%s", (_, line, message) => refused(line, message));
  });

  describe("a flag that cannot be used is named as it is written:", () => {
    it.each<[Line, string]>([
      ["run -a x -l", "-l needs a value."],
      [["run", "-a", "x", "-l", ""], "-l: the value is empty."],
      ["run -a x -l many", "--limit: expected a whole number of at least 0."],
    ])("%s", (line, message) => refused(line, message));
  });

  describe("flags that contradict each other are refused before anything is opened:", () => {
    it.each([
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
    it("without --agent", () => refused(`run --dataset ${QUESTIONS}`, "--agent is missing."));

    it("with --workspace and no server that it would be one of", () =>
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
});
