import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Command, nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { readFlags } from "../../src/cli/flags/define-command.js";
import { parsedName, withFirstArgument } from "../../src/cli/flags/first-argument.js";
import { formatError, refuseEmptyValues } from "../../src/cli/parser.js";
import { UserError } from "../../src/platform/errors.js";
import { ids, shapeOf } from "../../src/platform/flag-values.js";
import { refuseContradictions } from "../../src/questions/dataset.js";
import { QUESTION_FLAGS, runSchema } from "../../src/runs/run-flags.js";
import { type Line, QUESTIONS, ROOT, workFolder } from "./art-e.js";

const questionsSchema = z.object(shapeOf(QUESTION_FLAGS));

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
    [{ rpm: 0 }, "--rpm: expected a number above 0."],
    [{ epochs: 0 }, "--epochs: expected a whole number from 1 to 1000."],
    [{ maxCost: 0 }, "--max-cost: expected a number above 0."],
    [{ maxFailures: "0" }, "--max-failures: expected at least 1, or a percentage from 1% to 100%."],
    [{ maxFailures: "101%" }, "--max-failures: expected at least 1, or a percentage from 1% to 100%."],
    [{ maxFailures: "few" }, "--max-failures: expected a number of tasks, or a percentage such as 5%."],
    [{ price: "3" }, "--price: expected IN,OUT or IN,OUT,CACHED: US dollars per million tokens."],
    [{ maxTurns: 0 }, "--max-turns: expected a whole number from 1 to 1000."],
    [{ temperature: 2.1 }, "--temperature: expected a number from 0 to 2."],
    [{ taskTimeout: 0 }, "--task-timeout: expected a number above 0, at most 2147483."],
    [{ maxTime: 1e12 }, "--max-time: expected a number above 0, at most 35791."],
    [{ requestTimeout: 1e9 }, "--request-timeout: expected a number above 0, at most 2147483."],
    [{ split: "dev" }, "--split: expected train or test."],
    [{ cutoff: "tomorrow" }, "--cutoff: expected query_date or off."],
    [{ wireApi: "soap" }, "--wire-api: expected chat or responses."],
    [{ agent: "" }, "--agent: expected text."],
    [{ name: "" }, "--name: expected text."],
  ])("rejects the invalid value in %o", (flags, message) => {
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
    requireValidated: false,
    junitTasks: false,
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

describe("wrong input", () => {
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

  it.runIf(process.platform === "linux")(
    "ends with one line, not a stack, if the limit on open files is reached at the start",
    () => {
      const { status, stderr } = spawnSync(
        "bash",
        ["-c", `ulimit -n 24; exec ${process.execPath} bin/art-e.js --help`],
        {
          cwd: ROOT,
          encoding: "utf8",
        },
      );
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(/^art-e: Too many open files: .*\n {7}Allow more.*\n$/),
      ]);
    },
  );

  it("explains a limit on open files in formatError, without a stack", () => {
    const error = Object.assign(new Error("EMFILE: too many open files, open 'x'"), { code: "EMFILE" });
    const { text, exitCode } = formatError(error, { json: false, verbose: false });
    expect([exitCode, text]).toEqual([1, expect.stringMatching(/^art-e: Too many open files: .*\n {7}Allow more/)]);
  });

  it("names a path whose permissions deny access in formatError, without calling it a bug", () => {
    const about = { code: "EACCES", syscall: "scandir", path: "suite/examples" };
    const error = Object.assign(new Error("EACCES: permission denied, scandir 'suite/examples'"), about);
    expect(formatError(error, { json: false, verbose: false })).toEqual({
      text: "art-e: Cannot access suite/examples: permission denied.\n       Change its permissions, or pass another path.",
      exitCode: 2,
    });
  });

  describe("an invalid command line", () => {
    it.each([
      ["--quiet", "No command given.", "See art-e --help."],
      ["--stats", "No command given.", "To run the benchmark: art-e run --stats. See art-e --help."],
      ["-a baseline", "No command given.", "To run the benchmark: art-e run -a baseline. See art-e --help."],
      ["benchmark", "Unknown command: benchmark.", "Run the benchmark: art-e run --agent baseline."],
      ["frobnicate", "Unknown command: frobnicate.", "See art-e --help."],
      ["rnu", "Unknown command: rnu.", "Did you mean run? See art-e --help."],
      ["run --modle-id x", "Unknown flag: --modle-id.", "Did you mean --model-id? See art-e run --help."],
      ["run --no-x=1", "Unknown flag: --no-x.", "See art-e run --help."],
      ["show", "show: NAME is required.", "See art-e show --help."],
      ["show a b", "Unknown argument: b.", "See art-e show --help."],
      ["agents fly", "Unknown command: agents fly.", "See art-e agents --help."],
      ["queue list --queue redis://x", "Unknown command: queue list.", "See art-e queue --help."],
      ["agents clone", "agents clone: ID and NEW_ID are required.", "See art-e agents clone --help."],
      ["agents clone a", "agents clone: NEW_ID is required.", "See art-e agents clone --help."],
      ["agents list --model x", "agents list does not take --model.", "See art-e agents list --help."],
      ["agents list x", 'agents list does not take "x".', "See art-e agents list --help."],
    ])("leads to a suggestion (%s)", refused);
  });

  describe("an unusable flag", () => {
    it.each<[Line, string]>([
      ["run -a x -l", "-l: a value is required."],
      ["run --db", "--db: a value is required."],
      [["run", "-a", "x", "-l", ""], "-l: the value is empty."],
      [["run", "-l", " "], "-l: the value is empty."],
      ["run --limit=", "--limit: the value is empty."],
      [["import", ""], "An argument is empty."],
      ["run -a x -l many", "--limit: expected a whole number of at least 0."],
    ])("appears in the message as the user typed it (%s)", (line, message) => refused(line, message));
  });

  describe("contradictory flags", () => {
    it.each([
      ["import one -c two", "SOURCE (one) and --csv-path (two) differ."],
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
        "--failed cannot be combined with --band, --min-score or --max-score, because failed tasks do not have scores.",
      ],
      ["stats --corpus --run latest", "--corpus and --run cannot be combined."],
    ])("stop the command before any file is opened (%s)", (line, message) => refused(line, message));
  });

  describe("art-e run without its arguments", () => {
    it("requires --agent", () => refused(`run --dataset ${QUESTIONS}`, "--agent is required."));

    it("rejects --workspace without a server", () =>
      refused("run -a baseline -w ws_1", "--workspace requires --api-url."));
  });

  it("suggests the nearest agent and lists all agents if an agent is mistyped", async () => {
    const { code, stderr } = await artE("agents show baselin");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: Unknown agent "baselin"\.\n {7}Did you mean baseline\? Available: /);
  });

  it("has the same help in help COMMAND and COMMAND --help", async () => {
    const [help, flag] = await Promise.all([artE("help suite check"), artE("suite check --help")]);
    expect(help).toEqual(flag);
    expect((await artE("help")).stdout).toBe((await artE("--help")).stdout);
  });

  it("writes one line of JSON to stderr if --json is given", async () => {
    const { code, stdout, stderr } = await artE("stats --run nobody --json");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "db_missing", message: expect.any(String), hint: expect.any(String), exitCode: 2 },
    });
  });

  it("shows a stack if --verbose is given", async () => {
    const { code, stderr } = await artE("run --verbose");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: --agent is required\.\n {7}.+\nUserError: .+\n {4}at /);
  });
});

/** All commands with their usages, such as `runs show [run]`. */
async function allCommands(): Promise<readonly { readonly usage: string; readonly command: Command }[]> {
  const entries = COMMANDS.flatMap((entry) =>
    "load" in entry
      ? [{ usage: entry.usage, load: entry.load }]
      : entry.subcommands.map(({ usage, load }) => ({ usage: `${nameOf(entry)} ${usage}`, load })),
  );
  return Promise.all(entries.map(async ({ usage, load }) => ({ usage, command: await load() })));
}

/** Values that some list flags accept. */
const LIST_ITEMS = [
  ["1", "2"],
  ["abc", "xyz"],
  ["accuracy=0.5", "sources=0.5"],
  ["exactMatch", "semanticScore"],
  ["tasks", "turns"],
] as const;

interface ListFlag {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly items: (typeof LIST_ITEMS)[number];
}

/** The flags of the command that split a value at its commas. */
function listFlags({ flags }: Command): ListFlag[] {
  return Object.entries(flags).flatMap(([name, { schema }]) =>
    LIST_ITEMS.flatMap((items) => {
      const value: unknown = schema?.safeParse(items.join(",")).data;
      return schema !== undefined && Array.isArray(value) && value.length === 2 ? [{ name, schema, items }] : [];
    }).slice(0, 1),
  );
}

it("every flag for a number says what it expects if it gets text", async () => {
  const unexplained = (await allCommands()).flatMap(({ usage, command }) =>
    Object.entries(command.flags).flatMap(([name, { type, schema }]) => {
      const error = type === "number" ? schema?.safeParse(Number.NaN).error : undefined;
      return error === undefined || /^expected /.test(error.issues[0]?.message ?? "") ? [] : [`${usage} --${name}`];
    }),
  );
  expect(unexplained).toEqual([]);
});

describe("list flags", () => {
  it("add up in every command when repeated", async () => {
    const all = (await allCommands()).flatMap(({ usage, command }) =>
      listFlags(command).map(({ name, schema, items }) => ({
        flag: `${usage} --${name}`,
        repeated: schema.safeParse(command.flags[name]?.coerce?.([...items])).data,
        joined: schema.safeParse(items.join(",")).data,
      })),
    );
    expect(all.map(({ flag, repeated }) => [flag, repeated])).toEqual(all.map(({ flag, joined }) => [flag, joined]));
    expect(all.map(({ flag }) => flag)).toEqual(
      expect.arrayContaining([
        "run --fail-under",
        "run --scorers",
        "run --ids",
        "run --task",
        "run --only",
        "gate [run] --fail-under",
        "compare <runs..> --metric",
        "stats [run] --metric",
        "export-results [runs..] --tables",
        "export-traces [run] --min-score",
        "agents create <id> --tools",
      ]),
    );
  });

  it("keep every threshold of a repeated --fail-under", async () => {
    const { command } = (await allCommands()).find(({ usage }) => usage === "run") ?? {};
    const typed = command?.flags["fail-under"]?.coerce?.(["accuracy=0.5", "sources=0.4,found=0.3"]);
    expect(readFlags("run", runSchema, { failUnder: typed }).failUnder).toEqual([
      { metric: "accuracy", limit: 0.5 },
      { metric: "sources", limit: 0.4 },
      { metric: "found", limit: 0.3 },
    ]);
  });
});

describe("a command's mailbox", () => {
  const { artE, path, write } = workFolder();
  const OWNER = "jane.roe@x.example";
  const mail = (to: string, subject: string) =>
    `Message-ID: <${subject}@x>\nDate: Mon, 1 Jan 2001 10:00:00 +0000\nFrom: sam@y.example\nTo: ${to}\nSubject: ${subject}\n\nThe annex costs $40.\n`;

  beforeAll(async () => {
    mkdirSync(path("one/roe-j/inbox"), { recursive: true });
    mkdirSync(path("two/roe-j/inbox"), { recursive: true });
    mkdirSync(path("two/doe-k/inbox"), { recursive: true });
    for (const folder of ["one", "two"]) write(`${folder}/roe-j/inbox/1.`, mail(OWNER, "annex"));
    write("two/doe-k/inbox/1.", mail("kim.doe@x.example", "roof"));
    for (const name of ["one", "two"]) {
      const { code, stderr } = await artE(`import ${name} --db ${name}.db --quiet`);
      if (code !== 0) throw new Error(stderr);
    }
  });

  /** Words for the other arguments of all commands that take a mailbox. */
  const TAKERS: Readonly<Record<string, string>> = {
    "search [mailbox] <words..>": "annex costs",
    "ask [mailbox] [question..]": "what annex costs -a baseline",
    "mcp [mailbox]": "--print-config",
  };

  it("can be omitted in every command, or be an argument or --inbox", async () => {
    const commands = await allCommands();
    const takers = commands.filter(({ usage }) => /[<[](mailbox|inbox\w*)\b/.test(usage)).map(({ usage }) => usage);
    expect(takers.sort()).toEqual(Object.keys(TAKERS).sort());
  });

  describe.each(Object.entries(TAKERS))("in %s", (usage, others) => {
    const path = usage.replace(/ \[.*/, "");
    /** The output without ids and times of the answer. */
    const output = async (line: string) => {
      const { code, stdout } = await artE(`${path} ${line} --json`);
      expect(code, line).toBe(0);
      return { ...JSON.parse(stdout), traceId: null, durationMs: null };
    };

    it("does not depend on its form, and is the only one if it is omitted", async () => {
      const omitted = await output(`${others} --db one.db`);
      expect(JSON.stringify(omitted)).toContain(path === "mcp" ? OWNER : "<annex@x>");
      expect(await output(`${OWNER} ${others} --db one.db`)).toEqual(omitted);
      expect(await output(`--inbox ${OWNER} ${others} --db one.db`)).toEqual(omitted);
    });

    it("must be named if there are several, and the error lists them", async () => {
      const { code, stdout, stderr } = await artE(`${path} ${others} --db two.db`);
      expect([code, stdout]).toEqual([2, ""]);
      for (const address of [OWNER, "kim.doe@x.example"]) expect(stderr).toContain(address);
      await output(`--inbox ${OWNER} ${others} --db two.db`);
    });
  });

  it.each([
    ["search", "search: WORDS is required."],
    [`search --inbox ${OWNER} --db one.db`, "search: WORDS is required."],
    ["ask", "ask: QUESTION is required."],
    [`ask ${OWNER} --db one.db`, `No question follows the mailbox ${OWNER}.`],
    [`mcp ${OWNER} --inbox sam@y.example`, `MAILBOX (${OWNER}) and --inbox (sam@y.example) differ.`],
    ["search gas contract --db two.db", "MAILBOX is required, because two.db has 2 mailboxes."],
    ["search nobody@x.example annex --db one.db", "No mail in one.db is from or to nobody@x.example."],
  ])("causes an error that names the missing or wrong words (%s)", async (line, message) => {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout, message: stderr.split("\n")[0] }).toEqual({
      code: 2,
      stdout: "",
      message: `art-e: ${message}`,
    });
  });
});

describe("a command's run", () => {
  /** Commands that take runs, and words for their other arguments. */
  const TAKERS: Readonly<Record<string, string>> = {
    "score [run]": "",
    "stats [run]": "",
    "runs show [run]": "",
    "runs rename [run] [name]": "night",
    "runs note [run] [note]": "slow",
    "runs tag [run] <tags..>": "paper",
    "runs delete <runs..>": "",
    "compare <runs..>": "",
    "reliability [runs..]": "",
    "gate [run]": "",
    "evals cases [run]": "",
    "report [runs..]": "",
    "export-results [runs..]": "",
    "export-traces [run]": "",
    "evals label [run]": "",
    "evals code [run]": "",
    "queue clean [run]": "",
    "ctl show [run]": "",
    "ctl pause [run]": "",
    "ctl resume [run]": "",
    "ctl cancel [run]": "",
    "ctl requeue [run]": "",
    "ctl set [run]": "",
  };

  it("can be an argument, or --run", async () => {
    const commands = await allCommands();
    const takers = commands.filter(({ usage }) => /[<[]runs?\b/.test(usage)).map(({ usage }) => usage);
    expect(takers.sort()).toEqual(Object.keys(TAKERS).sort());
    // The argument of these is something else: a trace, an agent, evals.
    const others = commands.filter(({ usage, command }) => "run" in command.flags && !takers.includes(usage));
    expect(others.map(({ usage }) => usage).sort()).toEqual([
      "agents show [id]",
      "evals modes [action] [words..]",
      "evals run [names..]",
      "evals watch [names..]",
      "show <name>",
    ]);
  });

  it.each(Object.entries(TAKERS))("does not depend on the form, argument or --run (%s)", (usage, others) => {
    const rest = others === "" ? [] : [others];
    const isMany = /runs\.\./.test(usage);
    const words = ["one", ...rest];
    const names = [...usage.matchAll(/[<[](\w+)/g)].map(([, name = ""]) => parsedName(name, usage));
    const asParsed = (typed: readonly string[]) =>
      Object.fromEntries(
        names.map((name, i) => [name, usage.includes("..") && i === names.length - 1 ? typed.slice(i) : typed[i]]),
      );
    const argument = withFirstArgument(usage, asParsed(words));
    const flag = withFirstArgument(usage, { ...asParsed(rest), run: isMany ? ["one"] : "one" });
    const both = withFirstArgument(usage, { ...asParsed(words), run: isMany ? ["one"] : "one" });
    const known = ["run", "runs", "name", "note", "tags"];
    const values = (argv: Readonly<Record<string, unknown>>) => known.map((name) => argv[name]);
    expect(values(flag)).toEqual(values(argument));
    expect(values(both)).toEqual(values(argument));
    expect(values(argument)).toContainEqual(isMany ? ["one"] : "one");
  });

  const { artE } = workFolder({ demo: "answered" });

  /** Commands whose run must be named, because they delete it or compare it with the newest. */
  const NAMED = ["runs delete <runs..>", "compare <runs..>"];
  /** Without a run, these wait for a person's input, store something, or work on all runs. */
  const OTHERS = /^(evals (label|code|cases)|queue clean|ctl \w+|runs (rename|note|tag)) /;
  const OMITTABLE = Object.keys(TAKERS).filter((usage) => !NAMED.includes(usage) && !OTHERS.test(usage));
  const OUTPUTS: Readonly<Record<string, string>> = {
    gate: "--fail-under accuracy=0",
    "export-results": "-o tables --format csv",
  };

  it("can be omitted except in commands that delete or compare runs", () => {
    const required = Object.keys(TAKERS).filter((usage) => /<runs?\b/.test(usage));
    expect(required.sort()).toEqual([...NAMED].sort());
  });

  it.each(OMITTABLE)("defaults to the newest one (%s)", async (usage) => {
    const path = usage.replace(/ \[.*/, "");
    const flags = `${OUTPUTS[path] ?? ""} --json --quiet`;
    const omitted = await artE(`${path} ${flags}`);
    const named = await artE(`${path} latest ${flags}`);
    expect(omitted).toMatchObject({ code: 0, stderr: "" });
    expect(omitted.stdout.length).toBeGreaterThan(50);
    const withoutTime = (text: string) => text.replace(/"createdAt": "[^"]+"/, "");
    expect(withoutTime(named.stdout)).toBe(withoutTime(omitted.stdout));
  });

  it("defaults to the newest one in commands that name, note or tag runs", async () => {
    const { runId } = JSON.parse((await artE("stats --json")).stdout);
    const lines: [string, string][] = [
      ["runs rename night", `Run ${runId} is named "night".`],
      ["runs note slow", `Run ${runId}: slow`],
      ["runs tag paper", `Tags of run ${runId}: paper`],
      ["runs tag night ci", `Tags of run ${runId}: ci, paper`],
      ["runs tag paper --remove", `Tags of run ${runId}: ci`],
      ["runs note --remove", `Run ${runId} no longer has a note.`],
      ["runs rename night --remove", `Run ${runId} no longer has a name.`],
    ];
    for (const [line, printed] of lines) {
      expect({ line, ...(await artE(line)) }).toMatchObject({ line, code: 0, stdout: `${printed}\n` });
    }
  });

  it.each([
    ["score one --run two", "RUN (one) and --run (two) differ."],
    ["gate one --run two", "RUN (one) and --run (two) differ."],
    ["report one two --run three", "RUNS (one, two) and --run (three) differ."],
    ["compare one two --run one --run three", "RUNS (one, two) and --run (one, three) differ."],
    ["runs rename one night --run two", "RUN (one) and --run (two) differ."],
    ["show one/3 --run two", "NAME (one/3) and --run (two) differ."],
  ])("causes an error if both forms are given and differ (%s)", async (line, message) => {
    expect(await artE(line)).toEqual({
      code: 2,
      stdout: "",
      stderr: `art-e: ${message}\n       Pass one of them.\n`,
    });
  });

  it.each([
    ["compare", "compare: RUNS is required."],
    ["runs delete", "runs delete: RUNS is required."],
    ["runs tag", "runs tag: TAGS is required."],
    ["runs tag --run latest", "runs tag: TAGS is required."],
  ])("must be given to some commands (%s)", async (line, message) => {
    expect((await artE(line)).stderr).toBe(`art-e: ${message}\n       See art-e ${line.split(" --")[0]} --help.\n`);
  });
});
