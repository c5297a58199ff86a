import { describe, expect, it } from "vitest";
import { evalFiles } from "../../src/evals/as-python.js";
import { evalDefinitionSchema } from "../../src/evals/definition.js";
import { withoutPassOfFailure } from "../../src/evals/eval-outcome.js";
import { runDataEvals } from "../../src/evals/run-evals/run-rules.js";
import {
  describeTypescript,
  runTypescriptEval,
  typescriptIsolation,
} from "../../src/evals/run-evals/run-typescript-evals.js";
import type { evalFunction } from "../../src/library/evals.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { trace } from "../scoring/trace.js";

const common = {
  version: 1,
  reference: false,
  criterion: "The answer is /* well */ formed.",
  origin: { by: "person", seed: null, labels: null },
};

function assertionsEval(all: readonly object[]) {
  const definition = evalDefinitionSchema.parse({ ...common, name: "formed", kind: "assertions", answer: { all } });
  if (definition.kind !== "assertions") throw new Error("expected assertions");
  return definition;
}

function exported(definition: Parameters<typeof evalFiles>[0][number]["definition"]) {
  return evalFiles([{ definition, validation: null }], "typescript").get(`${definition.name}.ts`) ?? "";
}

const never = new AbortController().signal;

const ANSWERS = [
  "Best  Regards,\nJeff",
  "see the Reference 42",
  '{"a": 1, "b": null}',
  "null",
  "[]",
  "",
  ' "quoted" \\ `tick` $x ',
  "İstanbul*/",
];

const traces: QuestionTrace[] = ANSWERS.flatMap((answer, taskId) => [
  { ...trace({ answer, taskId }), scores: {} },
  { ...trace({ answer, taskId, ending: "model_error" }), scores: {} },
]);

describe("evalFiles as TypeScript", () => {
  it.each([
    ["contains", [{ contains: "best regards" }]],
    ["contains with the word reference", [{ contains: "the reference" }]],
    ["lacks", [{ lacks: "Regards" }, { lacks: "$x" }]],
    ["quotes and backslashes", [{ contains: '"quoted" \\ `tick` $x' }]],
    ["matches without case", [{ matches: "(?i)best\\s+regards|ISTANBUL" }]],
    ["matches", [{ matches: "^[^\\d]*(?<n>\\d+)$" }]],
    ["json with keys", [{ json: ["a", "b"] }]],
    ["json without keys", [{ json: [] }]],
  ])("gives the verdicts of an assertion with %s", async (_, all) => {
    const definition = assertionsEval(all);
    const code = exported(definition);
    expect(describeTypescript(code)).toEqual({ criterion: "The answer is /* well * / formed.", reference: false });
    const outcomes = await runTypescriptEval(
      { code, reference: false },
      traces,
      await typescriptIsolation(),
      new AbortController().signal,
    );
    const expected = traces.flatMap((one) =>
      runDataEvals([definition], one).map((outcome) => withoutPassOfFailure(outcome, one.ending)),
    );
    expect(outcomes.map(({ score, reason, error }) => ({ score, reason, error }))).toEqual(expected);
    expect(new Set(expected.map(({ score }) => score)).size).toBeGreaterThan(1);
  });

  it("writes the code of an eval in TypeScript unchanged", () => {
    const code = "export const brief = (_: object, output: string) => ({ score: output ? 1 : 0, reason: '' });\n";
    expect(exported(evalDefinitionSchema.parse({ ...common, name: "brief", kind: "typescript", code }))).toBe(code);
  });

  it("writes a rubric that cannot call its model when art-e runs the file, because it has no key", async () => {
    const rubric = { ...common, name: "polite", kind: "rubric", rubric: "Polite.", model: "openai/gpt" };
    const code = exported(evalDefinitionSchema.parse(rubric));
    expect(code).toContain('"rubric": "Polite."');
    const [outcome] = await runTypescriptEval(
      { code, reference: false },
      traces.slice(0, 1),
      await typescriptIsolation(),
      never,
    );
    expect(outcome).toMatchObject({
      score: null,
      error: expect.stringMatching(/needs its model's key.*import its JSON file/),
    });
  });

  it("keeps the provenance of cases, which the function accepts", async () => {
    const from = { run: "r", trace: "t", basis: "", question: "", gold: "", answer: "Q3 budget", missing: ["report"] };
    const typed: Parameters<typeof evalFunction>[0] = {
      name: "bugs",
      criterion: "It contains the terms.",
      kind: "cases",
      scoring: "fraction",
      cases: [{ task: 1, must_contain: ["q3", "budget", "report"], must_cite: [], from: { ...from, band: "low" } }],
    };
    const code = exported(evalDefinitionSchema.parse({ ...common, ...typed }));
    expect(code).toContain('"missing": [');
    const answered = [{ ...trace({ answer: "Q3 budget", taskId: 1 }), scores: {} }];
    expect(
      await runTypescriptEval({ code, reference: false }, answered, await typescriptIsolation(), never),
    ).toMatchObject([{ score: 1 / 3, reason: "Partial match: found 2/3 key terms, no more than before", error: null }]);
  });

  it("rejects an eval in Python", () => {
    const code = "def eval_function(task, task_metadata, trace, ctx):\n    return 1.0, ''\n";
    expect(() => exported(evalDefinitionSchema.parse({ ...common, name: "x", kind: "python", code }))).toThrow(
      "Cannot export x as TypeScript: it is written in Python.",
    );
  });
});
