import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { configTemplate } from "../../../src/cli/commands/init.js";
import { runSchema } from "../../../src/cli/commands/run-flags.js";
import { configSchema, parseConfig, SECTIONS } from "../../../src/cli/config.js";
import { describe as describeFlag } from "../../../src/cli/read-flags.js";
import { flagName } from "../../../src/platform/text.js";

/** The JSON Schema that ships is made from the zod schema: `npx vitest run test/cli/settings -u` makes it anew. */

const schema = z.toJSONSchema(configSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E config file",
  description: "art-e.yaml: settings of art-e run, gate, score, ask and stats, over which flags win.",
  ...schema,
};

const validate = new Ajv2020({ strict: false }).compile(document);

/** What is typed each time: it is about one run, or loses something, or may hold a secret. */
const COMMAND_LINE_ONLY =
  "config dryRun force name noJudge only overwrite queue repeat resume retryFailed stats unsafeHostPython watch".split(
    " ",
  );

describe("the JSON Schema of the config file", () => {
  it("that ships is that of this version", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../../schema/config.schema.json");
  });

  it("has every flag of run, but for those that are typed each time", () => {
    const flags = Object.values(SECTIONS).flatMap((fields) => Object.values(fields).map(({ flag }) => flag as string));
    expect(new Set(flags).size).toBe(flags.length);
    expect([...flags, ...COMMAND_LINE_ONLY].sort()).toEqual(Object.keys(runSchema.shape).sort());
  });

  it("describes every section, and every setting as --help does", () => {
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
    ["texts for the main keys", "agent: baseline\nmodel: a/b\ndataset: x.jsonl\njudge: off\n", true],
    ["sections of comments", "agent: baseline\nlimits:\n  # max-cost: 5\n", true],
    ["runs", "agent: baseline\nruns:\n  a:\n  b: {limits: {max-cost: 1}}\n", true],
    ["an unknown setting of a run", "runs: {a: {limits: {max-cots: 1}}}\n", false],
    ["a number for the name of a run", "runs: {7: {limits: {max-cost: 1}}}\n", false],
    ["an unknown section", "limts: {}\n", false],
    ["an unknown setting", "limits: {max-cots: 1}\n", false],
    ["a wrong type", "limits: {max-cost: many}\n", false],
    ["a number out of range", "run: {epochs: 0}\n", false],
    ["a text for a section without a main key", "limits: low\n", false],
  ])("agrees with the reader on %s", (_, text, isValid) => {
    expect(validate(parse(text))).toBe(isValid);
    if (isValid) expect(parseConfig(text, "art-e.yaml").settings.length).toBeGreaterThan(0);
    else expect(() => parseConfig(text, "art-e.yaml")).toThrow("art-e.yaml:1: ");
  });
});

describe("the file that init writes", () => {
  const answers = { agent: "email-search", model: "openai/gpt-6.1-sol" };
  const uncommented = (text: string) =>
    text.replace(/^(\s*)# (?!yaml-language-server)(\s*[a-z-]+:(?: .*)?)$/gm, "$1$2");

  it.each([
    ["the published questions", null],
    ["a file of questions", { kind: "dataset", path: "odd: name #1.jsonl" }],
    ["a suite", { kind: "suite", path: "suites/x" }],
  ] as const)("is read as written for %s, also with all of its comments as settings", (_, tasks) => {
    const text = configTemplate({ ...answers, tasks }, "schema.json");
    const values = (of: string) =>
      new Map(parseConfig(of, "art-e.yaml").settings.map(({ name, value }) => [name, value]));
    const written = values(text);
    expect(written.get("agent.id")).toBe("email-search");
    expect(written.get("model.id")).toBe("openai/gpt-6.1-sol");
    if (tasks !== null) expect([...written.values()]).toContain(tasks.path);
    const all = values(uncommented(text));
    expect(all.size).toBeGreaterThan(written.size + 10);
    expect(all.get("gates.fail-under")).toBe("sources=0.7,found=0.9");
    expect(validate(parse(text))).toBe(true);
    expect(validate(parse(uncommented(text)))).toBe(true);
  });
});
