import { mkdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { jsonLines, QUESTIONS, workFolder } from "../art-e.js";
import { briefEval, labelLines } from "./brief-answers.js";
import { jsonOf } from "./json-output.js";

const { artE, path, read, readJson, write } = workFolder({ demo: "answered" });

const json = jsonOf(artE);

const EVAL = (changes: object = {}) => briefEval(25, changes);

/** Writes the run's traces to a file. */
async function tracesFile(): Promise<string> {
  await json(`export-traces --run ${runId} -o all.jsonl --overwrite`);
  return "all.jsonl";
}

let runId = "";
beforeAll(async () => {
  const { runId: id, taskResults } = readJson("results.json");
  runId = id;
  write("labels.jsonl", labelLines(taskResults, { note: "by its length" }));
});

describe("art-e evals with labels", () => {
  it("derives labels from scores by band, skips scores between the bands, and prefers a person's labels", async () => {
    const byScore = await json("evals label --from scores --score sourcesCorrect --mode cites");
    const scores = readJson("results.json").taskResults.map(
      ({ scores: { sourcesCorrect } }: { scores: { sourcesCorrect: number } }) => sourcesCorrect,
    );
    expect(byScore).toEqual({
      source: "score",
      labels: {
        good: scores.filter((one: number) => one === 1).length,
        bad: scores.filter((one: number) => one === 0).length,
        neutral: 0,
        skip: 0,
      },
      unlabeled: 0,
      score: "sourcesCorrect",
    });
    const mean = await json("evals label latest --from scores --score semanticScore --mode similar");
    expect(mean.labels.neutral).toBeGreaterThan(0);
    expect(mean.labels.neutral + mean.labels.good + mean.labels.bad).toBe(73);
    expect((await artE("evals label --from judge")).stderr).toContain(
      "Cannot import labels: the 73 traces do not have verdicts.",
    );
    expect((await artE("evals label --from feedback")).stderr).toContain(
      "Cannot import labels: the database does not contain any feedback.",
    );
  });

  it.each([
    ['{"trace": "nobody", "label": "good"}', /^art-e: odd.jsonl, line 1: Unknown trace "nobody"/],
    ['\n{"trace": "latest/1", "label": "fine"}', /odd.jsonl, line 2: label: expected good, bad, neutral, skip/],
    ['\ufeff{"trace": "nobody", "label": "good"}', /^art-e: odd.jsonl, line 1: Unknown trace "nobody"/],
    [`{"trace": "${"x".repeat(1_001)}", "label": "good"}`, /^art-e: odd.jsonl, line 1: trace: Too big: .{1,60}$/m],
    [`{"trace": "latest/1", "label": "good", "note": "${"x".repeat(4_001)}"}`, /line 1: note: Too big/],
    [`{"trace": "latest/1", "label": "good", "annotator": "${"x".repeat(101)}"}`, /line 1: annotator: Too big/],
    ["good", /odd.jsonl, line 1: invalid JSON/],
    ["", /odd.jsonl does not contain labels/],
    [
      '{"trace": "latest/1", "label": "good"}\n{"trace": "latest/1", "label": "bad"}',
      /odd.jsonl: line 1 labels latest\/1 good, but line 2 labels it bad/,
    ],
  ])("rejects a label file that contains %j, and names the line", async (content, message) => {
    write("odd.jsonl", content);
    const { code, stderr } = await artE("evals label --from odd.jsonl");
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it("rejects a label file that does not exist", async () => {
    const { code, stderr } = await artE("evals label --from nowhere.jsonl");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("Cannot read nowhere.jsonl: ") });
  });

  it("accepts conflicting labels in a file if a person labeled a trace again, or if another person did", async () => {
    const label = (changes: object) => JSON.stringify({ trace: "latest/1", label: "good", ...changes });
    const lines = [label({}), label({ label: "bad", again: true }), label({ label: "bad", annotator: "mo" })];
    write("again.jsonl", lines.join("\n"));
    const { labels } = await json("evals label --from again.jsonl --mode twice");
    expect(labels).toMatchObject({ good: 1, bad: 2 });
  });
});

describe("an eval made from labels", () => {
  it("comes from all labels, is validated on them by cross-fitting, and counts its validations", async () => {
    await json("evals label --from labels.jsonl");
    const [{ kind, templates }] = await json("evals suggest --mode overall");
    expect(kind).toBe("template");
    expect(templates[0]).toMatchObject({ name: "short_answer", version: 1, rejection: null, chance: 0.005 });
    expect(templates.filter(({ rejection }: { rejection: string | null }) => rejection === null)).toHaveLength(1);
    const [again] = await json("evals suggest --mode overall");
    expect(again.templates[0]).toMatchObject({ name: "short_answer", version: 1 });

    expect((await artE("evals use short_answer")).stderr).toContain("it was never tested.");
    const test = (await json("evals test short_answer"))[0];
    expect(test).toMatchObject({
      crossFitted: "both",
      passed: true,
      heldOutReads: 1,
      readsByThisEval: 1,
      rejections: [],
    });
    expect(test.agreement.trueNegativeRate.value).toBeGreaterThan(0.8);
    expect(test.agreement.good + test.agreement.bad).toBe(73);
    // A repetition with the same result is not another chance to pass.
    expect((await json("evals test short_answer@1"))[0]).toMatchObject({ heldOutReads: 1, readsByThisEval: 1 });
    expect((await artE("evals test short_answer")).stdout).toContain("Next: art-e evals use short_answer@1");
    const strict = await artE("evals test short_answer --thresholds gate");
    expect(strict).toMatchObject({ code: 0, stdout: expect.stringContaining('Passed the thresholds "gate".') });
    const first = read("labels.jsonl");
    const isStale = async () => {
      const [{ test }] = (await json("evals list")).filter(({ name }: { name: string }) => name === "short_answer");
      return test.isStale;
    };
    expect(await isStale()).toBe(false);
    write(
      "reversed.jsonl",
      first.replace(/"(good|bad)"/g, (_, label) => (label === "good" ? '"bad"' : '"good"')),
    );
    await json("evals label --from reversed.jsonl");
    expect(await isStale()).toBe(true);
    expect((await artE("evals list")).stdout).toMatch(/short_answer@1 +draft +rules +stale/);
    expect((await artE("evals show short_answer")).stdout).toContain("Stale: the labels have changed since this test.");
    expect((await artE("evals use short_answer")).stderr).toContain("have changed since the test");
    // The latest test counts.
    const reversed = await artE("evals test short_answer");
    expect(reversed.code).toBe(3);
    expect(reversed.stdout).toMatch(
      /Rejected by the thresholds "usable":\n {2}true positive rate is 0\.000 .+\n {2}true negative rate is 0\.000 /,
    );
    expect((await artE("evals use short_answer")).stderr).toContain(
      "Cannot activate short_answer@1, which its test rejected: true positive rate is 0.000",
    );
    await json("evals label --from labels.jsonl");
    expect(await isStale()).toBe(true);
    await json("evals test short_answer");
    expect(await isStale()).toBe(false);
    expect(await json("evals use short_answer")).toEqual([{ name: "short_answer", version: 1, retired: null }]);
  });

  it("scores a stored run, and its errors correct the rate", async () => {
    const { evals, traces } = await json(`evals run short_answer --run ${runId}`);
    expect(traces).toBe(73);
    expect(evals).toHaveLength(1);
    const [figures] = evals;
    expect(figures.passed + figures.failed).toBe(73);
    expect(figures.passRate.value).toBe(figures.passed / 73);
    expect(figures.corrected.low).toBeLessThanOrEqual(figures.corrected.value);
    const { scores } = await json(`stats --run ${runId}`);
    expect(scores["eval:short_answer"]).toMatchObject({ n: 73, kind: "rate", value: figures.passRate.value });
    // The version is recorded once.
    await json(`evals run short_answer --run ${runId}`);
    const db = new Database(path("art-e.db"), { readonly: true });
    const settings = db.prepare("SELECT settings FROM runs WHERE id = ?").pluck().get(runId) as string;
    db.close();
    const { scorers: recorded } = JSON.parse(settings);
    expect(recorded.filter((name: string) => name.startsWith("eval:"))).toEqual(["eval:short_answer@1"]);
    expect(await artE(`gate ${runId} --fail-under eval:short_answer=1.0`)).toMatchObject({ code: 3 });
    expect(await artE(`gate ${runId} --fail-under eval:short_answer=0.1`)).toMatchObject({ code: 0 });
    expect(await artE(`gate ${runId} --fail-under eval:short_answer:corrected=1.0`)).toMatchObject({ code: 3 });
    const corrected = await artE(`gate ${runId} --fail-under eval:short_answer:corrected=0.1`);
    expect(corrected).toMatchObject({ code: 0, stdout: expect.stringContaining("eval:short_answer:corrected") });
    const strict = await artE(`gate ${runId} --fail-under eval:short_answer=0.1 --require-validated`);
    expect(strict).toMatchObject({ code: 0, stdout: expect.not.stringContaining("not validated") });
    expect(await artE(`report ${runId} -o report.md --format md`)).toMatchObject({ code: 0 });
  });

  it("works next to other scorers in run and score, and the run records its version", async () => {
    const line = `run -a baseline --dataset ${QUESTIONS} -l 3 --scorers eval:short_answer,tokenF1 -o three.json --quiet`;
    expect(await artE(line)).toMatchObject({ code: 0, stderr: "" });
    const { settings, taskResults } = readJson("three.json");
    expect(settings.scorers).toEqual(expect.arrayContaining(["tokenF1", "eval:short_answer@1"]));
    expect(taskResults[0].scores["eval:short_answer"]).toBeTypeOf("number");
    // Scoring again without the eval keeps its scores.
    expect(await artE(`score --scorers tokenF1 -o again.json --quiet`)).toMatchObject({ code: 0 });
    expect(readJson("again.json").taskResults[0].scores["eval:short_answer"]).toBeTypeOf("number");
    expect(await artE("score --scorers eval:nobody")).toMatchObject({ code: 2 });
    expect((await artE(`run -a baseline --dataset ${QUESTIONS} --scorers eval:`)).stderr).toContain(
      "unknown scorer eval:",
    );
    const compared = await artE(`compare ${runId} latest --metric eval:short_answer`);
    expect(compared.stdout).toContain("eval:short_answer");
  });

  it("applies only to its own answers if it is a regression case", async () => {
    await json(`evals cases ${runId}`);
    await json("evals use regression_cases");
    const { evals } = await json(`evals run regression_cases --run ${runId}`);
    expect(evals[0]).toMatchObject({ reference: true, failed: 0, corrected: null });
    expect(evals[0].passed).toBeGreaterThan(5);
    expect(evals[0].notApplicable).toBeGreaterThan(5);
    expect((await artE("evals test regression_cases")).stderr).toContain("so nothing is held out");
  });

  it("fails validation if the labels have another mode or contradictory lines", async () => {
    await json("evals label --from reversed.jsonl --mode reversed");
    expect((await artE("evals test short_answer --mode reversed")).code).toBe(3);
    // It passed for one of the two modes.
    expect(await json("evals use short_answer")).toMatchObject([{ name: "short_answer", version: 1 }]);
    expect((await artE("evals use short_answer --mode reversed")).stderr).toContain("its test rejected");
    await json("evals use short_answer --mode overall");
    const [line = ""] = read("labels.jsonl").split("\n");
    write(
      "twice.jsonl",
      `${line}\n${line.replace(/"(good|bad)"/, (_, label) => (label === "good" ? '"bad"' : '"good"'))}`,
    );
    expect((await artE("evals label --from twice.jsonl")).stderr).toMatch(
      /line 1 labels \S+ (good|bad), but line 2 labels it (good|bad)/,
    );
  });

  it("gets no measured rates if there are few labels", async () => {
    write("few.jsonl", read("labels.jsonl").split("\n").slice(0, 12).join("\n"));
    await json("evals label --from few.jsonl --mode few");
    expect((await artE("evals suggest --mode few")).stderr).toMatch(
      /Too few labels to choose and test evals: \d+ good and \d+ bad traces for few \(minimum 7 of each\)/,
    );
    expect((await artE("evals test short_answer --mode few")).stderr).toContain("Too few labels to test evals: ");
    const { stderr } = await artE("evals suggest --mode few");
    expect(stderr).toContain(
      `Label more traces, likely failures first: art-e evals label ${runId} --enriched --mode few.`,
    );
    expect(stderr).not.toContain("--from scores");
  });

  it("uses the mode of its labels in a test that does not name it", async () => {
    await json("evals label --from labels.jsonl --mode hinted");
    const { stdout } = await artE("evals suggest --mode hinted");
    expect(stdout).toMatch(/^ {2}short_answer@1 +\S+ +\S+ +\S+ +answer_words > 14$/m);
    expect(stdout).toMatch(/^Next: art-e evals test$/m);
    const tests = await json("evals test short_answer");
    expect(tests.map(({ criterion }: { criterion: string }) => criterion)).toContain("hinted");
    await json("evals use short_answer --mode overall");
  });

  it("shows alignment and chance only if asked for", async () => {
    const { stdout } = await artE("evals suggest --mode hinted");
    expect(stdout).not.toMatch(/alignment|chance|half|Not chosen/);
    expect((await artE("evals suggest --mode hinted --verbose")).stdout).toMatch(/alignment +chance/);
  });
});

describe("the versions of an eval", () => {
  it("retire their predecessor when activated", async () => {
    write("brief.json", EVAL());
    await json("evals add brief.json");
    const review = await json("evals show brief --disagreements");
    expect(review.contradictions.length).toBeGreaterThan(0);
    expect(review.contradictions.every(({ label }: { label: string }) => label === "bad")).toBe(true);
    write("shorter.json", briefEval(20));
    await json("evals add shorter.json");
    await json("evals use brief@1 --anyway");
    expect(await artE("evals test brief@1")).toMatchObject({ code: 3 });
    await json(`evals run brief --run ${runId}`);
    const gate = `gate ${runId} --fail-under eval:brief=0.1`;
    expect((await artE(gate)).stdout).toContain("; not validated: the eval's newest test rejected it");
    expect(await artE(`${gate} --require-validated`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Cannot gate on eval:brief: the eval's newest test rejected it."),
    });
    expect(await json("evals use brief --anyway")).toEqual([{ name: "brief", version: 2, retired: 1 }]);
    const listed = await json("evals list --all");
    expect(
      listed.filter(({ name }: { name: string }) => name === "brief").map(({ status }: { status: string }) => status),
    ).toEqual(["retired", "active"]);
    expect(await json("evals retire brief")).toMatchObject({ version: 2, status: "retired" });
    expect((await artE("evals run brief")).stderr).toContain("Cannot run the eval brief: no version is active");
    const { stdout } = await artE("evals show brief@1 --code");
    expect(stdout).toContain("def eval_function(task, task_metadata, trace, ctx):");
    expect(stdout).toContain("if value is not None and value > 25:");
  });

  it("cannot be refined once retired, and the error names the replacement", async () => {
    expect(await artE("evals refine brief")).toMatchObject({
      code: 2,
      stderr:
        "art-e: Unknown command: evals refine.\n       Fit the thresholds to the labels again: art-e evals suggest.\n",
    });
  });

  it("have a history of changes and test results", async () => {
    const { versions } = await json("evals show brief");
    expect(versions.map(({ version }: { version: number }) => version)).toEqual([1, 2]);
    expect((await artE("evals show brief")).stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d {2}version 1, by /m);
    expect((await artE("evals show nothing")).code).toBe(2);
    expect((await artE("evals history brief")).stderr).toContain("art-e evals show NAME");
  });
});

describe("an eval file", () => {
  it("stays the same after an export and an import", async () => {
    const { files } = await json("evals export short_answer -o out");
    expect(files).toEqual(["out/short_answer.json"]);
    const [imported] = await json("evals add out");
    expect(imported).toEqual({
      path: "out/short_answer.json",
      name: "short_answer",
      version: 1,
      status: "active",
      isNew: false,
      validation: "tested here",
    });
  });

  it("contains its test results, for a database without labels, unless it changed since", async () => {
    await json("evals export short_answer -o proved");
    const file = readJson("proved/short_answer.json");
    expect(file.validation).toMatchObject({ criterion: "overall", thresholds: "usable", rejections: [] });
    const elsewhere = async (line: string) => json(`${line} --db elsewhere.db`);
    await elsewhere(`import-traces ${await tracesFile()}`);
    expect(await elsewhere("evals add proved")).toMatchObject([{ isNew: true, validation: "kept" }]);
    await elsewhere("evals use short_answer");
    const { evals } = await elsewhere("evals run short_answer");
    expect(evals[0]).toMatchObject({ validation: "passed", corrected: { n: 73 } });
    const gate = "gate latest --fail-under eval:short_answer:corrected=0.1 --db elsewhere.db";
    expect(await artE(gate)).toMatchObject({ code: 0 });
    expect((await artE("evals show short_answer --db elsewhere.db")).stdout).toContain("without its labels");
    write("changed.json", JSON.stringify({ ...file, pass: { all: [{ feature: "answer_words", at_most: 9 }] } }));
    expect(await elsewhere("evals add changed.json")).toMatchObject([{ validation: "of another version" }]);
    expect((await artE("evals use short_answer --db elsewhere.db")).stderr).toContain("was never tested");
    const { validation: proof } = file;
    const rates = { ...proof.agreement, truePositiveRate: { ...proof.agreement.truePositiveRate, value: 0.123 } };
    // Each figure: test/evals/file-validation.test.ts.
    write("edited.json", JSON.stringify({ ...file, validation: { ...proof, agreement: rates } }));
    await json("import-traces all.jsonl --db edited.db");
    const edited = await artE("evals add edited.json --db edited.db");
    expect(edited.stdout).toContain("; ignored its test, whose figures were changed after the export");
    expect(await json("evals list --db edited.db")).toMatchObject([{ test: null }]);
    write("odd.json", JSON.stringify({ ...file, validation: { ...file.validation, agreement: 1 } }));
    expect((await artE("evals add odd.json")).stderr).toContain(
      "Cannot read the eval odd.json: validation.agreement: ",
    );
  });

  it("imports, runs and exports several evals together", async () => {
    write("one.json", EVAL({ name: "brief_one" }));
    write("two.json", briefEval(10, { name: "brief_two" }));
    const imported = await json("evals add one.json two.json");
    expect(imported.map(({ name }: { name: string }) => name)).toEqual(["brief_one", "brief_two"]);
    const { evals } = await json(`evals run brief_one@1 brief_two@1 --run ${runId}`);
    expect(evals.map(({ name }: { name: string }) => name)).toEqual(["brief_one", "brief_two"]);
    const { files } = await json("evals export brief_one@1 brief_two@1 -o several");
    expect(files).toEqual(["several/brief_one.json", "several/brief_two.json"]);
  });

  it.each([
    ["{", /Cannot read the eval odd.json: invalid JSON: /],
    [EVAL({ kind: "code" }), /kind: /],
    [EVAL({ name: "No Name" }), /name: expected lowercase letters/],
    [EVAL({ pass: { all: [] } }), /pass.all: /],
    [EVAL({ pass: { all: [{ feature: "luck", at_most: 1 }] } }), /unknown feature "luck"/],
    [EVAL({ pass: { all: [{ feature: "turns" }] } }), /expected a feature with at_least or at_most/],
    [EVAL({ extra: 1 }), /extra/],
  ])("causes an error if it contains %j", async (content, message) => {
    write("odd.json", content);
    const { code, stderr } = await artE("evals add brief.json odd.json");
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it("causes an error if it is missing or if its folder is empty", async () => {
    mkdirSync(path("empty"));
    expect((await artE("evals add empty")).stderr).toContain("does not contain .json, .py, .ts or .js files");
    expect((await artE("evals add nowhere.json")).stderr).toContain("Cannot read the eval nowhere.json");
    write("grader.rb", "def grade = true");
    expect((await artE("evals add grader.rb")).stderr).toContain(
      "Cannot read the eval grader.rb: expected JSON, Python (.py) or TypeScript (.ts, .js)",
    );
  });

  it("take their names from code files, whatever spelling these have", async () => {
    write("a-b-c.ts", "export default () => ({ score: 1, reason: '' });");
    write("Größe (1).ts", "export default () => ({ score: 0, reason: '' });");
    write("1st.ts", "export default () => ({ score: 0, reason: '' });");
    expect((await artE(["evals", "add", "a-b-c.ts", "Größe (1).ts"])).stdout).toBe(
      "a-b-c.ts: a_b_c@1\nGröße (1).ts: gro_e_1@1\n",
    );
    for (const spelling of ["a-b-c", "aBC", "A_B_C"]) {
      expect((await artE(`evals test ${spelling}`)).stderr).toMatch(
        new RegExp(`Unknown eval "${spelling}" .*\n +Did you mean a_b_c\\?`),
      );
    }
    expect((await artE("evals add 1st.ts")).stderr).toMatch(
      "Cannot read the eval 1st.ts: the file name cannot be an eval's name, which starts with a letter",
    );
  });

  it("can contain TypeScript, tested and exported like other evals", async () => {
    write(
      "briefAnswer.ts",
      [
        "/** The answer has at most 14 words. */",
        "export async function brief(input: { question: string }, output: string): Promise<{ score: number; reason: string }> {",
        "  const words = output.split(/\\s+/).filter((word) => word !== '').length;",
        "  return { score: words <= 14 ? 1 : 0, reason: String(words) };",
        "}",
      ].join("\n"),
    );
    expect(await artE("evals add briefAnswer.ts")).toMatchObject({
      code: 0,
      stdout: "briefAnswer.ts: brief_answer@1\n",
    });
    const { evals } = JSON.parse((await artE("evals run brief_answer@1 --json")).stdout);
    expect(evals).toMatchObject([{ name: "brief_answer", errors: 0 }]);
    expect((await artE("evals export brief_answer@1 --format python -o out")).stderr).toContain(
      "it is written in TypeScript",
    );
    expect(await json("evals export brief_answer@1 --format typescript -o ts")).toEqual({
      files: ["ts/brief_answer.ts"],
    });
    expect((await artE("evals add ts/brief_answer.ts")).stdout).toBe(
      "ts/brief_answer.ts: brief_answer@1 (already exists: draft)\n",
    );
  });
});

describe("evals commands", () => {
  it("activate and run a template even if there are no labels", async () => {
    expect(await json("evals add has_source")).toMatchObject({
      name: "has_source",
      version: 1,
      status: "draft",
      isNew: true,
      pass: { all: [{ feature: "sources", at_least: 1 }] },
    });
    const { evals } = await json("evals run has_source@1");
    expect(evals[0]).toMatchObject({ validation: "none", corrected: null });
    const [one] = await json("evals run has_source@1 --trace latest/1");
    expect(one).toMatchObject({ name: "has_source", version: 1, score: 1, error: null });
    expect((await artE("evals run has_source@1 --trace latest/1 --run latest")).code).toBe(2);
    expect((await json("evals add few_turns --at-most 3")).pass.all).toEqual([{ feature: "turns", at_most: 3 }]);
    expect(await json("evals add")).toHaveLength(24);
    expect((await artE("evals add few_turns")).stderr).toContain("few_turns requires a threshold");
    expect((await artE("evals add has_source --at-most 3")).stderr).toContain("has_source has a fixed threshold");
    const { stderr } = await artE("evals add nothing");
    expect(stderr).toContain('Unknown template "nothing"');
    expect(stderr).toMatch(/Available: .*has_source.*\. For another check, pass --contains/);
    await json("evals retire has_source@1");
    await json("evals retire few_turns@1");
  });

  it("judge what an answer literally contains", async () => {
    const said = ["--contains", "Monday", "--lacks", "don't know", "--matches", "(?i)at \\d+"];
    expect((await json(["evals", "add", "names_day", ...said])).answer.all).toEqual([
      { contains: "Monday" },
      { lacks: "don't know" },
      { matches: "(?i)at \\d+" },
    ]);
    await json("evals add short_words --matches ^.{1,80}$");
    await json("evals add is_json --json-key total");
    const passed = async (name: string) => (await json(`evals run ${name}@1`)).evals[0].passRate.value;
    expect(await passed("is_json")).toBe(0);
    const share = await passed("short_words");
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(1);
    await json("evals add endless --matches ^(.+)+[^.]$ --lacks zzz");
    const { evals } = await json("evals run endless@1");
    // A pattern that takes exponential time is stopped and recorded as an error of its trace.
    expect(evals[0].errors).toBeGreaterThan(0);
    expect(evals[0].firstError).toMatch(/^the pattern .* took longer than 250 ms$/);
    await json("evals retire endless@1");
    expect((await artE("evals add bad --matches (")).stderr).toContain("art-e: matches: ");
    expect((await artE("evals add both --contains x --at-most 3")).code).toBe(2);
    expect((await artE("evals add --contains x")).stderr).toContain("evals add: NAME is required.");
    for (const name of ["names_day", "short_words", "is_json"]) await json(`evals retire ${name}@1`);
  });

  it("export labels exactly as imported, to the requested path", async () => {
    await json("evals label --from labels.jsonl --mode out");
    await json("evals label --list --mode out -o out.jsonl");
    await json("evals label --from out.jsonl --mode back");
    const given = async (flags: string) =>
      (await json(`evals label --list ${flags}`)).labels.map(
        ({ traceId, label, note, drawn }: Record<string, unknown>) => ({
          traceId,
          label,
          note,
          drawn,
        }),
      );
    expect(await given("--mode back")).toEqual(await given("--mode out"));
    const { length } = await given("--mode back");
    expect((await artE("evals label --mode back --delete")).stderr).toContain("--delete requires --trace or");
    const [{ traceId: first }] = await given("--mode back");
    expect(await json(`evals label --trace ${first} --mode back --delete`)).toEqual({ deleted: 1 });
    expect(await given("--mode back")).toHaveLength(length - 1);
  });

  it("report the agreement of two people who label the same traces", async () => {
    const lines = jsonLines(read("labels.jsonl")) as { trace: string; label: string }[];
    const turned = lines.map((line, i) => (i < 5 ? { ...line, label: line.label === "good" ? "bad" : "good" } : line));
    write("ben.jsonl", turned.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await json("evals label --from labels.jsonl --mode two --annotator ann");
    await json("evals label --from ben.jsonl --mode two --annotator ben");
    const { labels, agreement } = await json("evals label --list --mode two");
    expect(labels).toHaveLength(2 * lines.length);
    expect(agreement).toMatchObject([{ annotators: ["ann", "ben"], agreement: { n: lines.length } }]);
    expect(agreement[0].agreement.value).toBeCloseTo(1 - 5 / lines.length, 9);
    expect(agreement[0].kappa.value).toBeLessThan(agreement[0].agreement.value);
    expect(await json("evals label --mode two --annotator ben --delete")).toEqual({ deleted: lines.length });
    expect((await json("evals label --list --mode two")).labels).toHaveLength(lines.length);
  });
});

describe("a mode that traces are labeled for directly", () => {
  it("consists of a sentence that a person writes and revises", async () => {
    const polite = async () =>
      (await json("evals modes")).direct.find(({ name }: { name: string }) => name === "polite");
    await json(["evals", "modes", "describe", "polite", "--sentence", "The answer is polite."]);
    expect(await polite()).toEqual({ name: "polite", sentence: "The answer is polite.", labeled: 0 });
    expect((await artE("evals add kind_words --rubric anthropic/claude-haiku-5-5 --mode rude")).stderr).toContain(
      "the mode rude does not have a description",
    );
    expect(await json("evals add kind_words --rubric anthropic/claude-haiku-5-5 --mode polite")).toMatchObject({
      kind: "rubric",
      rubric: "The answer is polite.",
      model: "anthropic/claude-haiku-5-5",
    });
    await json("evals label --from labels.jsonl --mode polite");
    await json("evals test short_answer --mode polite");
    await json("evals use short_answer --mode polite");
    await json(["evals", "modes", "describe", "polite", "--sentence", "The answer greets, and is polite."]);
    // Labels for another sentence do not validate this one.
    expect((await artE("evals use short_answer --mode polite")).stderr).toContain("have changed since");
    await json("evals use short_answer --mode overall");
    expect((await polite()).sentence).toBe("The answer greets, and is polite.");
    await json("evals retire kind_words@1");
  });
});
