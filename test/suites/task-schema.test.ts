import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { readSuite, taskFileSchema } from "../../src/suites/task-file.js";
import { needs, SUITES } from "../machine-requirements.js";
import { DEMO_SUITE, flowbookTask, spiderTask } from "./write-suite.js";

/** The JSON Schema that ships is made from the zod schema: `npx vitest run test/suites -u` makes it anew. */

const schema = z.toJSONSchema(taskFileSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E suite task",
  description: "A task of a suite folder, examples/<tool>/<id>/<id>.json, as Flowbook or as Spider2-V writes it.",
  ...schema,
};

const validate = new Ajv2020({ strict: false }).compile(document);

describe("the JSON Schema of a suite's task", () => {
  it("that ships is that of this version", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../schema/suite-task.schema.json");
  });

  it("has every field of the task format, each described", () => {
    const properties = document.properties as Record<string, { description?: string }>;
    expect(Object.keys(properties).sort()).toEqual(
      "action_number config counterpart evaluation evaluator id instruction related_apps snapshot source tags".split(
        " ",
      ),
    );
    expect(Object.keys(properties).filter((name) => !properties[name]?.description)).toEqual([]);
  });

  it("accepts both spellings and the demo suite", () => {
    expect(validate(flowbookTask("a", "b"))).toBe(true);
    expect(validate(spiderTask("a", "b"))).toBe(true);
    for (const { path } of readSuite(openSuiteFolder(DEMO_SUITE)).tasks) {
      expect(validate(JSON.parse(readFileSync(path.file, "utf8"))), path.file).toBe(true);
    }
  });

  it.each([
    ["no id", { id: undefined }],
    ["an empty instruction", { instruction: "" }],
    ["tags that are no list", { tags: "cli" }],
    ["a set-up step without a function", { config: [{ arguments: {} }] }],
    ["a fraction of an action", { action_number: 1.5 }],
  ])("refuses %s, as the reader does", (_, change) => {
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
