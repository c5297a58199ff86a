import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { configTemplate } from "../../../src/cli/commands/init.js";
import { configSchema, parseConfig, refuseUntrusted, SECTIONS } from "../../../src/cli/config/config-schema.js";
import { mergeConfig, namesOfRuns, settingsOfRun } from "../../../src/cli/config/merge-config.js";
import { describe as describeFlag } from "../../../src/cli/flags/define-command.js";
import { flagName } from "../../../src/platform/command-line.js";
import { UserError } from "../../../src/platform/errors.js";
import { runSchema } from "../../../src/runs/run-flags.js";

function refusedBy(work: () => unknown): UserError {
  try {
    work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const refused = (text: string) => refusedBy(() => parseConfig(text, "ci/art-e.yaml"));

const valuesOf = (text: string, path = "art-e.yaml") =>
  Object.fromEntries(parseConfig(text, path).settings.map(({ flag, value }) => [flag, value]));

describe("a config file", () => {
  it("has the same effect as the flags", () => {
    const text = `
agent: {id: email-search}
model: {id: openai/x, price: {input: 3, output: 15, cached: 0.3}}
dataset: {ids: [3, 7], split: train}
run: {limit: 0, scorers: [tokenF1, "eval:mine"]}
limits: {concurrency: 8, max-failures: 5%, max-cost: 2.5}
judge: off
gates: {fail-under: {accuracy: 0.8, sources: 0.7}}
`;
    expect(valuesOf(text)).toEqual({
      agent: "email-search",
      modelId: "openai/x",
      price: "3,15,0.3",
      ids: "3,7",
      split: "train",
      limit: 0,
      scorers: "tokenF1,eval:mine",
      concurrency: "8",
      maxFailures: "5%",
      maxCost: 2.5,
      judge: "off",
      failUnder: "accuracy=0.8,sources=0.7",
    });
  });

  it("resolves file names from its own folder, but not absolute paths and run names", () => {
    const text = `
model: replay/replies.jsonl
dataset: questions.jsonl
judge: art:replay/judge.jsonl
run: {output: /tmp/results.json}
gates: {baseline: latest, junit: ../junit.xml}
`;
    expect(valuesOf(text, "ci/nightly/art-e.yaml")).toEqual({
      modelId: "replay/ci/nightly/replies.jsonl",
      dataset: "ci/nightly/questions.jsonl",
      judge: "art:replay/ci/nightly/judge.jsonl",
      output: "/tmp/results.json",
      baseline: "latest",
      junit: "ci/junit.xml",
    });
    expect(valuesOf("gates: {baseline: package.json}", "./art-e.yaml")).toEqual({ baseline: "package.json" });
    expect(valuesOf("gates: {baseline: ../package.json}", "test/art-e.yaml")).toEqual({ baseline: "package.json" });
  });

  it("resolves the database from its own folder", () => {
    expect(parseConfig("database: mail.db", "ci/art-e.yaml").database).toBe("ci/mail.db");
    expect(parseConfig("agent: baseline", "ci/art-e.yaml").database).toBeNull();
  });

  it("can be empty or contain only comments", () => {
    expect(parseConfig("", "art-e.yaml").settings).toEqual([]);
    expect(parseConfig("# agent: baseline\n", "art-e.yaml").settings).toEqual([]);
    expect(parseConfig("limits:\n  # max-cost: 5\n", "art-e.yaml").settings).toEqual([]);
  });

  it.each([
    ["agent: x\nlimts: {}", 2, "There is no section limts.", "Did you mean limits?"],
    ["limits:\n  rpm: 5\n  max-cots: 3", 3, "limits has no setting max-cots.", "Did you mean max-cost?"],
    ["limits: {maxCost: 3}", 1, "limits has no setting maxCost.", "Did you mean max-cost?"],
    ["max-cost: 3", 1, "There is no section max-cost.", "Did you mean limits.max-cost?"],
    ["suite: {judge-votes: 3}", 1, "suite has no setting judge-votes.", "Did you mean judge.votes?"],
    ["run: {resume: latest}", 1, "run has no setting resume.", "--resume only works on the command line."],
    ["limits: {max-run-token: 5}", 1, "limits has no setting max-run-token.", "Did you mean max-run-tokens?"],
    ["run:\n  epochs: 0", 2, "run.epochs: expected a whole number from 1 to 1000.", ""],
    ["limits:\n  max-cost:", 2, "limits.max-cost: expected a number above 0.", ""],
    ["limits: {concurrency: many}", 1, "limits.concurrency: expected auto, or a whole number from 1 to 9999.", ""],
    ["limits: {concurrency: 0}", 1, "limits.concurrency: expected auto, or a whole number from 1 to 9999.", ""],
    [
      "limits: {max-failures: few}",
      1,
      "limits.max-failures: expected a number of tasks, or a percentage such as 5%.",
      "",
    ],
    ["gates:\n  fail-under:\n    found: high", 3, "gates.fail-under.found: expected a number.", ""],
    ["gates: {fail-under: 0.8}", 1, "gates.fail-under: expected METRIC: VALUE, such as accuracy: 0.8.", ""],
    ["dataset: {split: dev}", 1, "dataset.split: expected train or test.", ""],
    ["run: {scorers: tokenF1}", 1, "run.scorers: expected a list, such as [a, b].", ""],
    ["agent: [a]", 1, "agent: expected settings such as id, command, url.", ""],
    ["limits: low", 1, "limits: expected settings such as max-turns, concurrency, rpm.", ""],
    ["model: {price: {input: -1, output: 1}}", 1, "model.price.input: expected US dollars per million tokens.", ""],
    ["database: 3", 1, "database: expected a path.", ""],
    ["runs: [a]", 1, "runs: expected NAME: with sections below it.", ""],
    ["runs:\n  a: baseline", 2, "runs.a: expected sections such as agent, dataset and limits.", ""],
    [
      "runs:\n  a b: {agent: x}",
      2,
      "runs.a b: expected a name of up to 50 letters, digits, dots, dashes, underscores.",
      "",
    ],
    ["runs:\n  a:\n    limits: {max-cots: 1}", 3, "runs.a.limits has no setting max-cots.", "Did you mean max-cost?"],
    ["runs:\n  a:\n    limts: {}", 3, "runs.a has no section limts.", "Did you mean limits?"],
    [
      "runs:\n  a: {runs: {}}",
      2,
      "runs.a has no section runs.",
      "runs belongs at the top level of the file, next to the sections.",
    ],
    ["run: {database: x.db}", 1, "run has no setting database.", "database belongs at the top level of the file"],
    ["rnus: {}", 1, "There is no section rnus.", "Did you mean runs"],
    ["- agent", 1, "expected sections such as agent, dataset and limits.", ""],
    ["agent: a\nagent: b", 2, "has the key agent twice.", ""],
    ["runs:\n  __proto__: {agent: x}", 2, "has the key __proto__, which is not supported.", ""],
    ["agent: !!set {id}", 1, "has the tag tag:yaml.org,2002:set, which is not supported.", ""],
    ["agent: !!binary aWQ=", 1, "has the tag tag:yaml.org,2002:binary, which is not supported.", ""],
    ["agent: a\n---\nagent: b", 2, "contains several documents, expected one.", ""],
    [`agent: ${"[".repeat(20_000)}`, 1, "is nested too deeply.", ""],
    ["agent: &a x\nmodel: *a", 1, "has an anchor or an alias, which are not supported.", ""],
    ["run: {epochs: 0}\nagent: 3\nlimits: {rpm: -1}", 1, "run.epochs: expected a whole number from 1 to 1000.", ""],
  ])("causes an error in one line (%j)", (text, line, message, hint) => {
    const error = refused(text);
    expect(error).toMatchObject({ code: "config_invalid", message: `ci/art-e.yaml:${line}: ${message}`, exitCode: 2 });
    expect(error.hint).toContain(hint);
  });

  it.each([
    ["a setting named like a key", "model:\n  api-key: abc", 2],
    ["a provider's variable", "agent: a\nOPENAI_API_KEY: abc", 2],
    ["a string that looks like a key, even in a comment", "agent: a\n# was sk-ant-0123456789abcdefghij", 2],
    ["a key in a program's arguments", "agent: {command: 'x --key sk-0123456789abcdefghij'}", 1],
  ])("must not contain a key, and the error does not print it (%s)", (_, text, line) => {
    const error = refused(text);
    expect(error).toMatchObject({
      code: "config_secret_refused",
      message: expect.stringContaining(`ci/art-e.yaml:${line}: `),
    });
    expect(error.hint).toContain("ANTHROPIC_API_KEY");
    expect(`${error.message}${error.hint}`).not.toMatch(/abc|0123/);
  });
});

describe("a config file next to flags", () => {
  const { settings: FILE } = parseConfig(
    `
agent: mine
model: {id: openai/x, base-url: "http://localhost:1/v1", temperature: 0}
dataset: {file: a.jsonl, split: train, max-sources: 2}
run: {limit: 50, shuffle: true}
limits: {max-cost: 5, rpm: 60}
judge: {model: openai/y, votes: 3}
gates: {fail-under: {found: 0.9}}
`,
    "art-e.yaml",
  );
  const used = (argv: Record<string, unknown>) => mergeConfig(argv, FILE).used.map(({ name }) => name);
  const ALL = FILE.map(({ name }) => name);
  const without = (...names: string[]) => ALL.filter((name) => !names.some((each) => name.startsWith(each)));

  it.each([
    ["none", {}, ALL],
    ["if a setting's flag is given", { limit: 5 }, without("run.limit")],
    ["if a boolean is disabled", { shuffle: false }, without("run.shuffle")],
    ["if another agent has its own model", { agent: "baseline" }, without("agent", "model")],
    ["if the agent is the same", { agent: "mine" }, without("agent")],
    ["if an agent command is given", { agentCommand: "x" }, without("agent", "model")],
    ["if another model is given, with another server and price", { modelId: "google/z" }, without("model")],
    ["if another base URL is given", { baseUrl: "http://localhost:2" }, without("model.base-url")],
    ["if another file is given", { dataset: "b.jsonl" }, without("dataset")],
    ["if a suite is given", { suite: "s" }, without("dataset")],
    ["if no judge is wanted", { noJudge: true }, without("judge")],
    [
      "if the published protocol is given",
      { protocol: "art" },
      without("agent", "judge", "dataset.split", "dataset.max-sources", "run.limit"),
    ],
    ["if a stored run is resumed, which keeps its settings", { resume: "latest" }, ["limits.rpm", "gates.fail-under"]],
    ["if a run is repeated", { repeat: "latest", rpm: 5 }, ["gates.fail-under"]],
  ])("loses only the settings that flags override, %s", (_, argv, expected) => {
    expect(used(argv)).toEqual(expected);
    const { replaced } = mergeConfig(argv, FILE);
    expect(replaced.length).toBe(ALL.length - expected.length);
  });
});

describe("several runs in a config file", () => {
  const FILE = parseConfig(
    `
agent: {id: mine}
model: openai/x
dataset: {file: a.jsonl, split: train}
run: {limit: 50, output: out/results.json}
gates: {fail-under: {found: 0.9}, junit: junit}
runs:
  plain:
  other-model: {model: {id: openai/y}, run: {limit: 5}}
  other-agent: {agent: baseline, gates: {fail-under: {sources: 0.5}, junit: own.xml}}
  tasks: {suite: s}
`,
    "art-e.yaml",
  );
  const values = (run: string) => Object.fromEntries(settingsOfRun(run, FILE).map(({ name, value }) => [name, value]));

  it("share common settings, and each adds its name to shared output files", () => {
    expect(values("plain")).toEqual({
      "agent.id": "mine",
      "model.id": "openai/x",
      "dataset.file": "a.jsonl",
      "dataset.split": "train",
      "run.limit": 50,
      "run.output": "out/results-plain.json",
      "gates.fail-under": "found=0.9",
      "gates.junit": "junit-plain",
    });
  });

  it("override settings one by one, and drop settings that belong to another agent or dataset", () => {
    const model = values("other-model");
    expect(model).toMatchObject({ "runs.other-model.model.id": "openai/y", "runs.other-model.run.limit": 5 });
    expect(Object.keys(model)).not.toEqual(expect.arrayContaining(["model.id"]));
    expect(Object.keys(model)).not.toEqual(expect.arrayContaining(["run.limit"]));
    expect(values("other-agent")).toEqual({
      "dataset.file": "a.jsonl",
      "dataset.split": "train",
      "run.limit": 50,
      "run.output": "out/results-other-agent.json",
      "runs.other-agent.agent.id": "baseline",
      "runs.other-agent.gates.fail-under": "sources=0.5",
      "runs.other-agent.gates.junit": "own.xml",
    });
    expect(Object.keys(values("tasks"))).not.toEqual(expect.arrayContaining(["dataset.file"]));
    expect(values("tasks")).toMatchObject({ "runs.tasks.suite.folder": "s", "agent.id": "mine" });
  });

  it("run with --only in the order of the file", () => {
    expect(namesOfRuns(undefined, FILE, "f")).toEqual(["plain", "other-model", "other-agent", "tasks"]);
    expect(namesOfRuns("tasks, plain", FILE, "f")).toEqual(["plain", "tasks"]);
    expect(refusedBy(() => namesOfRuns("plan", FILE, "f"))).toMatchObject({
      message: "--only: f has no run plan.",
      hint: "Did you mean plain? It has plain, other-model, other-agent, tasks.",
    });
    expect(refusedBy(() => namesOfRuns("plain", { ...FILE, runs: new Map() }, "f")).message).toBe(
      "--only: f has no runs.",
    );
  });
});

describe("a config file found without --config", () => {
  const check = (text: string) => refuseUntrusted(parseConfig(text, "art-e.yaml").settings, "art-e.yaml");

  it.each([
    "agent: {command: python agent.py}",
    "agent: {url: https://models.example/v1}",
    "agent: {api-url: https://models.example}",
    "model: {base-url: https://models.example/v1}",
    "model: {base-url: http://localhost.models.example/v1}",
    "model: {base-url: 'http://localhost@models.example/v1'}",
    "judge: {base-url: https://models.example/v1}",
    "traces: {otlp-endpoint: https://models.example}",
    "suite: {folder: s, functions: mine.mjs}",
  ])("must not set servers or programs (%s)", (text) => {
    expect(refusedBy(() => check(text))).toMatchObject({
      code: "config_untrusted",
      message: expect.stringMatching(/^art-e\.yaml:1: \w+\.[a-z-]+ (can send keys to a server|runs a program)/),
      hint: "If you trust the file: --config art-e.yaml.",
    });
  });

  it("can specify a server on this machine", () => {
    const local = "model: {id: openai/x, base-url: 'http://localhost:8000/v1'}\nagent: {url: 'http://127.0.0.1:9'}";
    expect(() => check(local)).not.toThrow();
    expect(() => check(local.replace("127.0.0.1", "mail.example"))).toThrow("agent.url can send keys to a server");
  });
});

/** The shipped JSON Schema is generated from the zod schema by `npx vitest run test/cli/settings -u`. */

const schema = z.toJSONSchema(configSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E config file",
  description: "art-e.yaml: settings of art-e run, gate, score, ask and stats, over which flags win.",
  ...schema,
};

const validate = new Ajv2020({ strict: false }).compile(document);

/** Flags that are typed every time because they concern a single run, are destructive, or may contain a secret. */
const COMMAND_LINE_ONLY =
  "config dryRun force name noJudge only overwrite queue repeat resume retryFailed stats unsafeHostPython watch".split(
    " ",
  );

describe("the JSON Schema of the config file", () => {
  it("matches the file in the package", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../../schema/config.schema.json");
  });

  it("has every flag of run, except flags that must be typed every time", () => {
    const flags = Object.values(SECTIONS).flatMap((fields) => Object.values(fields).map(({ flag }) => flag as string));
    expect(new Set(flags).size).toBe(flags.length);
    expect([...flags, ...COMMAND_LINE_ONLY].sort()).toEqual(Object.keys(runSchema.shape).sort());
  });

  it("describes every section, and every setting like --help", () => {
    const sections = document.$defs as Record<string, { description: string; anyOf: Record<string, unknown>[] }>;
    expect(Object.keys(sections)).toEqual(Object.keys(SECTIONS));
    for (const [name, { description, anyOf }] of Object.entries(sections)) {
      expect(description, name).toMatch(/\w/);
      const settings = anyOf.find(({ type }) => type === "object")?.properties as Record<
        string,
        { description: string }
      >;
      const described = new Map(
        Object.entries(runSchema.shape).map(([name, field]) => [flagName(name).slice(2), describeFlag(field)]),
      );
      for (const [key, setting] of Object.entries(settings)) {
        const [, flag = ""] = / \(--([a-z-]+)\)$/.exec(setting.description) ?? [];
        expect(setting.description, key).toBe(`${described.get(flag)} (--${flag})`);
      }
    }
  });

  it.each([
    ["strings for the main keys", "agent: baseline\nmodel: a/b\ndataset: x.jsonl\njudge: off\n", true],
    ["sections that contain only comments", "agent: baseline\nlimits:\n  # max-cost: 5\n", true],
    ["runs", "agent: baseline\nruns:\n  a:\n  b: {limits: {max-cost: 1}}\n", true],
    ["an unknown setting of a run", "runs: {a: {limits: {max-cots: 1}}}\n", false],
    ["a number as the name of a run", "runs: {7: {limits: {max-cost: 1}}}\n", false],
    ["an unknown section", "limts: {}\n", false],
    ["an unknown setting", "limits: {max-cots: 1}\n", false],
    ["a wrong type", "limits: {max-cost: many}\n", false],
    ["a number out of range", "run: {epochs: 0}\n", false],
    ["a string for a section without a main key", "limits: low\n", false],
  ])("agrees with the reader on %s", (_, text, isValid) => {
    expect(validate(parse(text))).toBe(isValid);
    if (isValid) expect(parseConfig(text, "art-e.yaml").settings.length).toBeGreaterThan(0);
    else expect(() => parseConfig(text, "art-e.yaml")).toThrow("art-e.yaml:1: ");
  });
});

describe("a file from art-e init", () => {
  const configured = { agent: "email-search", model: "openai/gpt-6.1-sol" };
  const uncommented = (text: string) =>
    text.replace(/^(\s*)# (?!yaml-language-server)(\s*[a-z-]+:(?: .*)?)$/gm, "$1$2");

  it("passes the reader, even if all commented settings are enabled", () => {
    const text = configTemplate(configured, "schema.json");
    const values = (of: string) =>
      new Map(parseConfig(of, "art-e.yaml").settings.map(({ name, value }) => [name, value]));
    const written = values(text);
    expect(written.get("agent.id")).toBe("email-search");
    expect(written.get("model.id")).toBe("openai/gpt-6.1-sol");
    const all = values(uncommented(text));
    expect(all.size).toBeGreaterThan(written.size + 10);
    expect(all.get("gates.fail-under")).toBe("sources=0.7,found=0.9");
    expect(validate(parse(text))).toBe(true);
    expect(validate(parse(uncommented(text)))).toBe(true);
  });
});
