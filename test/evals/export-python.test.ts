import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { evalFiles } from "../../src/evals/as-python.js";
import { type EvalDefinition, evalDefinitionSchema } from "../../src/evals/definition.js";
import { BACKENDS_WITHOUT_MODELS, runEvals } from "../../src/evals/run-evals.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { demoQuestions } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { trace } from "../scoring/trace.js";

const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** Answers with dates, numbers and abstentions in many forms. */
const ANSWERS = [
  "On May 5, 2001 at 9:30 am, for $1.5 million (1,500,000).",
  "5/14/01 or 14/5/2001; 2001-05-14; the 3rd of June; March 2000; noon until 2 p.m.",
  "0930 hours, 12:00 noon, midnight, 3-5 pm, from 8 to 10:30 am",
  "Twenty-five percent, 25%, one hundred and twenty-five thousand, a dozen, 5mm, 3.5k, 2bn, -4.5, (713) 853-1575",
  "Volumes decreased 12,500 MMBtu; they may 12,500 more, or maybe 4.5 in march 12.5",
  "It may be so, perhaps by late May",
  "I don't know.",
  "I could not find any information about it in the mailbox.",
  "Unfortunately, the emails do not mention it. However, it is probably 42.",
  "No emails were found about that",
  "It is as the mail\u00a0says:\u2003see below tomorrow",
  "",
  "x",
  "Ask nobody@nowhere.example, or Marcus.Hale@kestrelplains.example.",
];

const common = {
  version: 1,
  reference: false,
  criterion: "It is so.",
  origin: { by: "person", seed: null, labels: null },
};

/** The scores of exported evals as Python gives them, and as art-e does. */
async function bothScores(evals: readonly object[], traces: readonly QuestionTrace[]) {
  const definitions = evals.map((one, i) => evalDefinitionSchema.parse({ ...common, name: `one_${i}`, ...one }));
  const exported = (definition: EvalDefinition) =>
    evalFiles([{ definition, validation: null }], "python").get(`${definition.name}.py`) ?? "";
  const program = [
    "import json, sys",
    "given = json.load(sys.stdin)",
    "for code in given['codes']:",
    "    names = {}",
    "    exec(code, names)",
    "    eval_function = names['eval_function']",
    "    print(json.dumps([eval_function({'task_id': t['taskId']}, {}, t, None)[0] for t in given['traces']]))",
  ].join("\n");
  const input = JSON.stringify({ codes: definitions.map(exported), traces });
  const { stdout, stderr, status } = spawnSync("python3", ["-c", program], {
    input,
    maxBuffer: 2 ** 28,
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const columns = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as (number | null)[]);
  const start = performance.now();
  const own = await runEvals(definitions, traces, BACKENDS_WITHOUT_MODELS, new AbortController().signal);
  const ms = own.flat().reduce((sum, outcome) => sum + outcome.ms, 0);
  expect(ms).toBeGreaterThanOrEqual(0);
  expect(ms).toBeLessThanOrEqual(performance.now() - start);
  return {
    python: traces.map((_, t) => columns.map((column) => column[t])),
    own: own.map((row) => row.map(({ score }) => score)),
  };
}

const tracesOf = (answers: readonly string[]): QuestionTrace[] =>
  answers.map((answer, taskId) => ({ ...trace({ answer, taskId }), ending: "answered", scores: {} }));

describe("evalFiles as Python", needs("sandbox", hasPython), () => {
  it("finds the same terms in an answer as art-e", async () => {
    const texts = [...ANSWERS, ...demoQuestions.map(({ answer }) => answer)];
    const terms = ["May 5", "9:30", "1,500,000", "25%", "mail", "noon"];
    // One case per text and term: a case belongs to a task, and each text is the answer to one.
    const words = texts.map(
      (_, i) =>
        texts[i + 1]
          ?.split(" ")
          .slice(0, 4)
          .filter((word) => word !== "") ?? [],
    );
    const longest = Math.max(...words.map((own) => own.length));
    const evals = [
      ...terms.map((term) => texts.map((_, task) => ({ task, must_contain: [term], must_cite: [] }))),
      ...Array.from({ length: longest }, (_, k) =>
        words.flatMap((own, task) => {
          const term = own[k];
          return term === undefined ? [] : [{ task, must_contain: [term], must_cite: [] }];
        }),
      ),
    ].map((cases) => ({ kind: "cases", cases }));
    const { python, own } = await bothScores(evals, tracesOf(texts));
    for (const [i, text] of texts.entries()) expect({ text, scores: python[i] }).toEqual({ text, scores: own[i] });
    expect(new Set(own.flat())).toEqual(new Set([0, 1, null]));
  });

  it("evaluates assertions like art-e", async () => {
    const assertions = [
      { contains: "MAY 5,  2001" },
      { lacks: "mailbox" },
      { matches: "^(?<first>\\w)\\w* .*\\k<first>" },
      { matches: "(?i)unfortunately|\\bseconds?\\b" },
      { matches: "[\u00a0\u2003]says|^x$" },
      { json: [] },
      { json: ["total", "of"] },
    ];
    const documents = ["1", "null", "[1]", " {} ", '{"total": 1, "of": [2]}', '{"total": 1}', "{total: 1}", "NaN"];
    const evals = assertions.map((assertion) => ({ kind: "assertions", answer: { all: [assertion] } }));
    const texts = [...ANSWERS, ...documents];
    const { python, own } = await bothScores(evals, tracesOf(texts));
    for (const [i, text] of texts.entries()) expect({ text, scores: python[i] }).toEqual({ text, scores: own[i] });
    expect(new Set(own.flat())).toEqual(new Set([0, 1]));
  });

  it("contains only the functions, constants and imports it needs, separated like in other Python code", () => {
    const eval_ = { name: "json", kind: "assertions", answer: { all: [{ json: ["total"] }] } };
    const definition = evalDefinitionSchema.parse({ ...common, ...eval_ });
    const code = evalFiles([{ definition, validation: null }], "python").get("json.py") ?? "";
    const [, outline = ""] = code.replace(/\n {4}.*/g, "").split('"""\n');
    expect(outline.replace(/".*/, "...")).toBe(
      [
        ...["import json", "import re", "", "SPACES = ...", "", "", "def regex(source, flags=0):", "", ""],
        ...["def strip(text):", "", "", "def is_json(text, keys):", "", ""],
        ...["def eval_function(task, task_metadata, trace, ctx):", "", "", 'if __name__ == "__main__":', "\n"],
      ].join("\n"),
    );
  });

  it("reports that a rule needs the features of exported traces", () => {
    const rule = { name: "brief", kind: "rules", pass: { all: [{ feature: "answer_words", at_most: 14 }] } };
    const definition = evalDefinitionSchema.parse({ ...common, ...rule });
    const code = evalFiles([{ definition, validation: null }], "python").get("brief.py") ?? "";
    const program = `${code.split("if __name__")[0]}\nprint(eval_function({}, {}, {"answer": "x"}, None))`;
    const { stderr } = spawnSync("python3", ["-c", program], { encoding: "utf8" });
    expect(stderr).toContain(
      "ValueError: this eval reads features, which art-e measures: run it on traces from art-e export-traces",
    );
  });

  it("keeps the declaration that an eval needs gold answers", () => {
    const code = "def eval_function(task, meta, trace, ctx):\n    return 1.0, meta['expected_output']\n";
    const definition = evalDefinitionSchema.parse({ ...common, name: "gold", kind: "python", reference: true, code });
    const exported = evalFiles([{ definition, validation: null }], "python").get("gold.py");
    expect(exported).toContain(`${code}\nREFERENCE = True\n`);
  });
});
