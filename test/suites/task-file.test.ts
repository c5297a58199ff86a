import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkSuite } from "../../src/suites/check-suite.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { readSettingsState, stripJsonComments } from "../../src/suites/task/account-settings.js";
import { readSuite, taskFileSchema } from "../../src/suites/task/task-file.js";
import { classifyTask } from "../../src/suites/task-needs.js";
import { needs, SUITES } from "../machine-requirements.js";
import { DEMO_SUITE, flowbookTask, read, readOne, spiderTask, taskFiles, upload, writeSuite } from "./write-suite.js";

/** The published JSON Schema is generated from the zod schema: `npx vitest run test/suites/task-file.test.ts -u`. */

const schema = z.toJSONSchema(taskFileSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E suite task",
  description: "A task of a suite folder, examples/<tool>/<id>/<id>.json, as Flowbook or as Spider2-V writes it.",
  ...schema,
};

const validate = new Ajv2020({ strict: false }).compile(document);

describe("the JSON Schema of a suite task", () => {
  it("matches the published file", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../schema/suite-task.schema.json");
  });

  it("describes every field of the task format", () => {
    const properties = document.properties as Record<string, { description?: string }>;
    expect(Object.keys(properties).sort()).toEqual(
      "action_number config counterpart evaluation evaluator id instruction related_apps snapshot source tags".split(
        " ",
      ),
    );
    expect(Object.keys(properties).filter((name) => !properties[name]?.description)).toEqual([]);
  });

  it("accepts both spellings, and the demo suite", () => {
    expect(validate(flowbookTask("a", "b"))).toBe(true);
    expect(validate(spiderTask("a", "b"))).toBe(true);
    for (const { path } of readSuite(openSuiteFolder(DEMO_SUITE)).tasks) {
      expect(validate(JSON.parse(readFileSync(path.file, "utf8"))), path.file).toBe(true);
    }
  });

  it.each([
    ["a missing id", { id: undefined }],
    ["an empty instruction", { instruction: "" }],
    ["tags that are not a list", { tags: "cli" }],
    ["a setup step without a function", { config: [{ arguments: {} }] }],
    ["a fractional number of actions", { action_number: 1.5 }],
  ])("rejects %s, like the reader", (_, change) => {
    const task = JSON.parse(JSON.stringify(flowbookTask("a", "b", change)));
    expect(validate(task)).toBe(false);
    expect(taskFileSchema.safeParse(task).success).toBe(false);
  });

  it("accepts every task of the real suites", needs("suites"), () => {
    for (const name of ["flowbook", "spider2v"]) {
      for (const { path } of readSuite(openSuiteFolder(`${SUITES}/${name}`)).tasks) {
        expect(validate(JSON.parse(readFileSync(path.file, "utf8"))), path.file).toBe(true);
      }
    }
  });
});

const at = (name: string) => `examples/excel/${name}/${name}.json`;

describe("readSuite on a Flowbook task", () => {
  it("reads its folder, and the evaluation's arguments as options", () => {
    const { task } = readOne("excel", flowbookTask("a", "b", { evaluation: undefined, counterpart: "" }));
    expect(task).toMatchObject({ id: "a", tool: "excel", dialect: "flowbook", counterpart: null, evaluation: null });
    const full = readOne("excel", flowbookTask("a", "b")).task;
    expect(full.folder.endsWith("/examples/excel/a")).toBe(true);
    expect(full.actionNumber).toBe(3);
    expect(full.evaluation).toEqual({
      postconfig: [],
      conjunction: "and",
      metrics: [
        {
          func: "compare_csv",
          result: null,
          expected: null,
          options: { local_expected: "gold.csv", vm_result: "/home/user/out.csv" },
        },
      ],
    });
  });

  it("skips setup in the other spelling, like Flowbook", () => {
    const old = { type: "upload_script_and_execute", parameters: { src: "init.sh", dest: "/home/user/init.sh" } };
    const one = readOne("excel", flowbookTask("a", "b", { config: [upload("in.csv", "/home/user/in.csv"), old] }));
    expect(one.task.config).toEqual([upload("in.csv", "/home/user/in.csv")]);
    expect(one.skipped.map(({ func, funcField }) => [func, funcField])).toEqual([
      ["upload_script_and_execute", "config[1].type"],
    ]);
  });

  it("locates the fields of nested comparisons", () => {
    const inner = (gold: string) => ({
      func: "compare_notebook_cells",
      arguments: { local_expected: gold, vm_result: "/home/user/a.ipynb" },
    });
    const evaluation = {
      func: "evaluate_multiple_notebooks",
      arguments: { operator: "or", comparisons: [inner("one.ipynb"), inner("two.ipynb")] },
    };
    const { calls } = readOne("jupyter", flowbookTask("a", "b", { config: [], evaluation }));
    expect(calls.map(({ func, funcField }) => `${funcField} ${func}`)).toEqual([
      "evaluation.func evaluate_multiple_notebooks",
      "evaluation.arguments.comparisons[0].func compare_notebook_cells",
      "evaluation.arguments.comparisons[1].func compare_notebook_cells",
    ]);
  });
});

describe("readSuite on a Spider2-V task", () => {
  it("reads its getters", () => {
    const { task } = readOne("excel", spiderTask("a", "b"));
    expect(task.dialect).toBe("spider2v");
    expect(task.config).toEqual([
      {
        func: "copyfile_from_host_to_guest",
        arguments: { src: "examples/excel/a/in.csv", dest: "/home/user/in.csv" },
      },
    ]);
    expect(task.evaluation?.metrics).toEqual([
      {
        func: "compare_csv",
        result: { func: "vm_file", arguments: { path: "/home/user/out.csv", dest: "out.csv" } },
        expected: { func: "local_file", arguments: { path: "examples/excel/a/gold.csv", dest: "gold.csv" } },
        options: {},
      },
    ]);
  });

  it("reads parallel lists, in which nulls and empty objects mean none", () => {
    const evaluator = {
      postconfig: [{ type: "sleep", parameters: { seconds: 1 } }],
      func: ["check_file_existence", "exact_match"],
      conj: "or",
      result: [
        { type: "vm_file", path: "/home/user/a", dest: "a" },
        { type: "rule", rules: 1 },
      ],
      expected: [{}, null],
      options: [null, { strict: true }],
    };
    const { evaluation } = readOne("excel", spiderTask("a", "b", { evaluator })).task;
    expect(evaluation).toEqual({
      postconfig: [{ func: "sleep", arguments: { seconds: 1 } }],
      conjunction: "or",
      metrics: [
        {
          func: "check_file_existence",
          result: { func: "vm_file", arguments: { path: "/home/user/a", dest: "a" } },
          expected: null,
          options: {},
        },
        {
          func: "exact_match",
          result: { func: "rule", arguments: { rules: 1 } },
          expected: null,
          options: { strict: true },
        },
      ],
    });
  });

  it.each([
    [
      "lists of different lengths",
      { result: [{ type: "rule" }] },
      "evaluator.result: expected a list of 2, because func is a list",
    ],
    [
      "a getter for a list",
      { expected: { type: "rule" } },
      "evaluator.expected: expected a list of 2, because func is a list",
    ],
    [
      "a list for a function",
      { func: "f", options: [{}] },
      "evaluator.options: expected no list, because func is not a list",
    ],
    [
      "a getter without a type",
      { result: [{ path: "/a" }, {}] },
      "evaluator.result[0]: expected {type, ...}, {} or null",
    ],
    ["an unknown conjunction", { conj: "xor" }, 'evaluator.conj: expected "and" or "or"'],
  ])("rejects %s", (_, change, problem) => {
    const evaluator = { func: ["exact_match", "exact_match"], ...change };
    const { problems } = read(taskFiles("excel", spiderTask("a", "b", { evaluator })));
    expect(problems.map(({ file, field, message }) => `${file} ${field}: ${message}`)).toEqual([
      `${at("a")} ${problem}`,
    ]);
  });
});

describe("readSuite on an invalid task file", () => {
  it.each([
    ["invalid JSON", "{", /^is not JSON: /],
    ["JSON that is not an object", [1], /expected object/],
    ["nesting that is too deep", `{"a":${"[".repeat(200)}${"]".repeat(200)}}`, /^is nested more than 100 levels deep$/],
    ["a file that is too large", " ".repeat(2_000_001), /^has 2000001 bytes, more than the maximum of 2000000$/],
  ])("reports %s", (_, content, message) => {
    const { tasks, problems } = read({ [at("a")]: content });
    expect(tasks).toEqual([]);
    expect(problems).toEqual([expect.objectContaining({ level: "error", task: null, file: at("a"), field: "" })]);
    expect(problems[0]?.message).toMatch(message);
  });

  it("reports every invalid field", () => {
    const { problems } = read({ [at("a")]: flowbookTask("a", "b", { id: 1, tags: [2], config: [{}] }) });
    expect(problems.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      "id: expected a string",
      "tags[0]: expected a string",
      "config[0]: expected {func, arguments} or {type, parameters}",
    ]);
  });

  it("reports two evaluations", () => {
    const { problems } = read({ [at("a")]: { ...spiderTask("a", "b"), evaluation: { func: "compare_csv" } } });
    expect(problems).toEqual([expect.objectContaining({ code: "task_invalid", field: "evaluator" })]);
  });

  it("reads the other tasks", () => {
    const { tasks, problems } = read({ [at("a")]: "{", ...taskFiles("excel", flowbookTask("b", "c")) });
    expect(tasks.map(({ task }) => task.id)).toEqual(["b"]);
    expect(problems).toHaveLength(1);
  });
});

describe("readSuite with checkSuite", () => {
  const parts = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>("compare_csv", "vm_file", "/a", "../b", [{}], { type: "vm_file", path: ["/a", 1] }),
  );
  const names = "source related_apps tags action_number config evaluation evaluator counterpart constructor".split(" ");
  /** A task with unusual values in some of its fields. */
  const oddTask = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), parts), { selector: ([name]) => name, maxLength: 3 })
    .map((changes) => flowbookTask("a", "b", Object.fromEntries(changes)));
  /** A task whose evaluation has unusual arguments. */
  const oddArguments = fc
    .dictionary(fc.constantFrom("comparisons", "local_expected", "vm_result", "eval_script", "dest"), parts)
    .map((args) => flowbookTask("a", "b", { evaluation: { func: "evaluate_multiple_notebooks", arguments: args } }));

  it("read any task, or report it as unreadable", () => {
    let readable = 0;
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), oddTask, oddArguments), (content) => {
        const folder = mkdtempSync(join(tmpdir(), "art-e-odd-"));
        try {
          mkdirSync(join(folder, "examples/excel/a"), { recursive: true });
          writeFileSync(join(folder, at("a")), JSON.stringify(content));
          const suite = readSuite(openSuiteFolder(folder));
          readable += suite.tasks.length;
          expect(suite.tasks.length + Math.min(suite.problems.length, 1)).toBe(1);
          checkSuite(suite);
          suite.tasks.map((read) => classifyTask(read));
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: 500, seed: 18 },
    );
    expect(readable).toBeGreaterThan(100);
  });
});

describe("openSuiteFolder", () => {
  it("accepts evaluation_examples, or the folder that contains it", () => {
    const folder = writeSuite({ "evaluation_examples/examples/excel/a/a.json": flowbookTask("a", "b") });
    for (const named of [folder, join(folder, "evaluation_examples")]) {
      const suite = openSuiteFolder(named);
      expect(suite.root).toBe(folder);
      expect(readSuite(suite).tasks.map(({ task }) => task.id)).toEqual(["a"]);
    }
  });

  it("rejects a folder that contains no examples", () => {
    expect(() => openSuiteFolder("/nonexistent")).toThrow("/nonexistent is not a task suite");
  });

  it("reports folders that contain no task file", () => {
    const { problems } = read({ "examples/excel/a/in.csv": "x", "examples/excel/README.md": "x" });
    expect(problems.map(({ code, file }) => `${code} ${file}`)).toEqual(["task_missing examples/excel/a"]);
  });

  it("ignores links", () => {
    const other = writeSuite(taskFiles("excel", flowbookTask("b", "c")));
    const folder = writeSuite(taskFiles("excel", flowbookTask("a", "b")));
    symlinkSync(join(other, "examples/excel/b"), join(folder, "examples/excel/b"));
    symlinkSync(join(other, "examples/excel"), join(folder, "examples/other"));
    const { tasks, problems } = readSuite(openSuiteFolder(folder));
    expect(tasks.map(({ task }) => task.id)).toEqual(["a"]);
    expect(problems).toEqual([]);
  });
});

describe("stripJsonComments", () => {
  it.each([
    ['{"a": 1} // end', '{"a": 1} '],
    ['// first\n{"a": 1 // one\n}', '\n{"a": 1 \n}'],
    ['{"url": "https://x.example"}', '{"url": "https://x.example"}'],
    ['{"quote": "\\"// no comment"}', '{"quote": "\\"// no comment"}'],
    ['{"back": "\\\\"} // yes', '{"back": "\\\\"} '],
  ])("removes comments in %j", (text, expected) => {
    expect(stripJsonComments(text)).toBe(expected);
  });

  it("takes time linear in the length of the text", { timeout: 30_000 }, () => {
    stripJsonComments("/".repeat(1_000_000));
    stripJsonComments("//\n".repeat(300_000));
  });
});

describe("readSettingsState", () => {
  const stateOf = (files: Record<string, unknown>, name = "settings.json") =>
    readSettingsState(join(writeSuite(files), name));

  it("recognizes filled-in settings", () => {
    const settings = '{"email": "ida@museum.example", // the owner\n "roles": ["Owner"], "port": 1}';
    expect(stateOf({ "settings.json": settings })).toEqual({ state: "filled" });
    expect(stateOf({ "settings.yml": "a: 1" }, "settings.yml")).toEqual({ state: "filled" });
  });

  it("lists fields that still have the template's values", () => {
    const settings = [
      { email: "xxxxx@xxx.com", url: "https://{instance}.example", password: "your_password", project: "fine" },
      { user: "USER_NAME", key: "YOUR_KEY", empty: "" },
    ];
    expect(stateOf({ "settings.json": settings })).toEqual({
      state: "placeholders",
      fields: ["[0].email", "[0].url", "[0].password", "[1].user", "[1].key", "[1].empty"],
    });
  });

  it("recognizes a template, missing settings and invalid JSON", () => {
    expect(stateOf({ "settings.json.template": "{}" })).toEqual({ state: "template_only" });
    expect(stateOf({ "other.json": "{}" })).toEqual({ state: "missing" });
    expect(stateOf({ "settings.json": "{" })).toEqual({ state: "unreadable" });
    expect(stateOf({ "settings.json": `${"[".repeat(200)}${"]".repeat(200)}` })).toEqual({ state: "unreadable" });
  });
});
