import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { demoQuestions, MAIL, QUESTIONS, ROOT, workFolder } from "../art-e.js";
import { jsonOf } from "./json-output.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });
const json = jsonOf(artE);

/** Answers two questions with the gold answer, one with half of it and one with a wrong word. */
const AGENT = `
import { createInterface } from "node:readline";
const { answers } = JSON.parse((await import("node:fs")).readFileSync(process.argv[2], "utf8"));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, question } = JSON.parse(line);
  console.log(JSON.stringify({ id, ...answers[question] }));
}
`;

const [first, second, third] = demoQuestions.filter(({ answer }) => answer.length > 8);
const BUG = { ...demoQuestions[0], id: 900, question: "What was the subject?", answer: "Q3 Budget Report" };
const HALF = { ...demoQuestions[0], id: 901, question: "Where do they meet?", answer: "Denver office lobby, Tuesday" };

interface Case {
  readonly task: number;
  readonly must_contain: string[];
  readonly from: { readonly basis: string; readonly missing: string[]; readonly answer: string; readonly gold: string };
}

describe("art-e evals cases", () => {
  beforeAll(async () => {
    if (first === undefined || second === undefined || third === undefined) throw new Error("questions are missing");
    const questions = [first, second, BUG, HALF];
    write("questions.jsonl", questions.map((question) => JSON.stringify(question)).join("\n"));
    const answers = {
      [first.question]: { answer: first.answer, sources: first.message_ids },
      [second.question]: { answer: second.answer, sources: second.message_ids },
      [BUG.question]: { answer: "Budget", sources: [] },
      [HALF.question]: { answer: "Denver office, Tuesday", sources: [] },
    };
    write("answers.json", JSON.stringify({ answers }));
    write("agent.mjs", AGENT);
    const command = `"${process.execPath}" "${path("agent.mjs")}" "${path("answers.json")}"`;
    const line = ["run", "--agent-command", command, "-a", "scripted", "--dataset", path("questions.jsonl"), "-l", "0"];
    expect(await artE([...line, "--quiet"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("makes patterns, opportunities and failure modes from the first trace of a band on", async () => {
    const made = await json("evals cases latest --by semanticScore");
    expect(made).toMatchObject({
      scorer: "semanticScore",
      labeled: 0,
      counts: { high: 2, medium: 1, low: 1, unscored: 0 },
    });
    expect(made.high.patterns).toContainEqual(
      expect.objectContaining({
        name: "gold_cited",
        traces: 2,
        applies: 2,
        examples: [expect.any(String), expect.any(String)],
      }),
    );
    for (const { traces, applies } of [...made.high.patterns, ...made.medium.partialSuccesses])
      expect(traces).toBeGreaterThanOrEqual(Math.max(1, applies / 2));
    expect(made.high.positive).toHaveLength(2);
    expect(made.high.regression.map(({ task }: Case) => task)).toEqual([first?.id, second?.id]);
    const [opportunity] = made.medium.opportunities;
    expect(opportunity).toMatchObject({ task: 901, basis: "semanticScore 0.75" });
    expect(opportunity.missing.join("\n")).toContain("missing: lobby");
    expect(opportunity.missing.join("\n")).toContain("The answer cites a source");
    expect(made.low.failureModes).toContainEqual(expect.objectContaining({ name: "half_of_terms", traces: 1 }));
    expect(made.low.targeted).toContain("has_source");
  });

  it("reproduces a bug with the fraction of the key terms found as its score", async () => {
    const { low } = await json("evals cases latest --by semanticScore");
    expect(low.bugs).toMatchObject([
      {
        task: 900,
        must_contain: ["q3", "budget", "report"],
        must_cite: [],
        from: { gold: "Q3 Budget Report", answer: "Budget", missing: ["q3", "report"], basis: "semanticScore 0.333" },
      },
    ]);
    await json("evals run bug_reproductions@1 edge_cases@1 regression_cases@1");
    await artE("export-traces --run latest -o traces.jsonl --overwrite --quiet");
    const scores = read("traces.jsonl")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const scoreOf = (id: number | undefined, name: string) => scores.find(({ taskId }) => taskId === id).scores[name];
    expect(scoreOf(900, "eval:bug_reproductions")).toEqual({
      value: 1 / 3,
      explanation: "Partial match: found 1/3 key terms",
    });
    // The answer that the case was made from fails it, although it contains 3 of 4 terms.
    expect(scoreOf(901, "eval:edge_cases")).toEqual({
      value: 1 / 4,
      explanation: "Partial match: found 3/4 key terms, no more than before",
    });
    expect(scoreOf(first?.id, "eval:regression_cases").value).toBe(1);
    expect(scoreOf(first?.id, "eval:bug_reproductions").value).toBeNull();
  });

  it("saves the same evals only once, and keeps the provenance of each case in their files", async () => {
    const { evals, runId } = await json("evals cases latest --by semanticScore");
    expect(evals.length).toBeGreaterThan(3);
    for (const saved of evals) expect(saved).toMatchObject({ version: 1, isNew: false });
    await json("evals export bug_reproductions@1 --format json -o files");
    const [bug] = JSON.parse(read("files/bug_reproductions.json")).cases;
    expect(bug.from).toMatchObject({ run: runId, band: "low", question: BUG.question });
    const [imported] = await json("evals add files/bug_reproductions.json");
    expect(imported.isNew).toBe(false);
  });

  it("lets a gate use the cases", async () => {
    await json("evals use regression_cases@1");
    await json("evals run regression_cases");
    expect(await artE("gate latest --fail-under eval:regression_cases=1")).toMatchObject({ code: 0 });
    // A gate uses the mean, so a partly met case is not enough for 1.
    await json("evals use edge_cases@1");
    await json("evals run edge_cases");
    expect((await artE("gate latest --fail-under eval:edge_cases=1")).code).toBe(3);
    expect(await artE("gate latest --fail-under eval:edge_cases=0.2")).toMatchObject({ code: 0 });
    await json("evals use bug_reproductions@1");
    await json("evals run bug_reproductions");
    expect((await artE("gate latest --fail-under eval:bug_reproductions=1")).code).toBe(3);
  });

  it("lets a label decide the band before the score", async () => {
    const traces = read("traces.jsonl")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const trace = traces.find(({ taskId }) => taskId === 900).traceId;
    write("labels.jsonl", `${JSON.stringify({ trace, source: "person", label: "good", note: "short is fine" })}\n`);
    await json("evals label latest --from labels.jsonl");
    const made = await json("evals cases latest");
    expect(made).toMatchObject({ labeled: 1, counts: { high: 3, medium: 0, low: 1 } });
    const bases = made.high.positive.map(({ basis }: Case["from"]) => basis);
    expect(bases).toContain("labeled good (person): short is fine");
    expect(await json("evals cases latest --by semanticScore")).toMatchObject({ labeled: 0, counts: { low: 1 } });
  });

  it("omits a trace that was skipped while labeling", async () => {
    const before = await json("evals cases latest");
    const trace = before.low.bugs[0].from.trace;
    write("skip.jsonl", `${JSON.stringify({ trace, source: "person", label: "skip" })}\n`);
    await json("evals label latest --from skip.jsonl");
    const { low, unscored } = before.counts;
    expect(await json("evals cases latest")).toMatchObject({
      counts: { low: low - 1, unscored: unscored + 1 },
    });
  });

  it("prints a summary with every section", async () => {
    const { stdout } = await artE("evals cases latest --by semanticScore");
    for (const title of [
      "High: successful patterns",
      "Positive and regression cases",
      "Medium: partial successes",
      "Improvement opportunities",
      "Edge cases",
      "Low: failure modes",
      "Bug reproductions",
      "Targeted evals",
    ])
      expect(stdout).toContain(`\n${title}\n`);
    expect(stdout).toContain("key terms found: 1/3, missing: q3, report");
  });

  it("sorts traces without a gold answer by their labels and explains why they get no case", async () => {
    await artE("export-traces --run latest -o all.jsonl --overwrite --quiet");
    const bare = read("all.jsonl")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .map((trace) => ({ ...trace, task: { ...trace.task, answer: "" }, scores: {} }));
    write("bare.jsonl", bare.map((trace) => `${JSON.stringify(trace)}\n`).join(""));
    const { runs } = await json("import-traces bare.jsonl --db bare.db");
    expect(runs).toHaveLength(1);
    const refused = await artE("evals cases latest --db bare.db");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("none of its traces has a label or a headline score");
    write("bare-labels.jsonl", `${JSON.stringify({ trace: bare[0].traceId, label: "bad" })}\n`);
    await json("evals label latest --from bare-labels.jsonl --db bare.db");
    expect(await json("evals cases latest --db bare.db")).toMatchObject({
      scorer: null,
      counts: { low: 1, unscored: 3 },
      withoutCase: { "no gold answer": 1 },
    });
  });

  it("describes suite traces, but makes no cases from them", { tags: ["slow"] }, async () => {
    const suite = join(ROOT, "fixtures/suites/demo");
    expect((await artE(`run --suite ${suite} -a oracle --db suite.db --quiet`)).code).toBe(0);
    const made = await json("evals cases latest --db suite.db");
    expect(made.scorer).toBe("taskScore");
    expect(made.counts.high).toBeGreaterThan(0);
    expect(made.withoutCase).toEqual({
      "graded by its suite": made.counts.high + made.counts.medium + made.counts.low,
    });
    expect(made.evals.filter(({ kind }: { kind: string }) => kind === "cases")).toEqual([]);
  });

  it("rejects a score whose low values are good", async () => {
    const { code, stderr } = await artE("evals cases latest --by falseAbstention");
    expect(code).toBe(2);
    expect(stderr).toContain("--by: expected a score for which higher is better");
  });

  it("rejects an unknown run and an unknown score", async () => {
    expect((await artE("evals cases run_nosuch")).code).toBe(2);
    expect((await artE("evals cases latest --by nosuch")).stderr).toContain('Unknown score "nosuch"');
  });
});

it("makes no case of a low answer that contains all key terms, because the answer would pass it", async () => {
  write("wordy.jsonl", JSON.stringify(BUG));
  const answer = "The subject of the email that Dana sent to her team was the Q3 budget report";
  write("wordy.json", JSON.stringify({ answers: { [BUG.question]: { answer, sources: [] } } }));
  const command = `"${process.execPath}" "${path("agent.mjs")}" "${path("wordy.json")}"`;
  await artE(["run", "--agent-command", command, "-a", "wordy", "--dataset", path("wordy.jsonl"), "--name", "wordy"]);
  const made = await json("evals cases wordy");
  expect(made).toMatchObject({ counts: { low: 1 }, withoutCase: { "the answer contains all key terms": 1 } });
  expect(made.low.bugs).toEqual([]);
});

it("counts a copy of an email as the email, like the scores", async () => {
  const run = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 0 --quiet -o copies.json`;
  expect(await artE(run)).toMatchObject({ code: 0 });
  const { taskResults } = JSON.parse(read("copies.json")) as { taskResults: { scores: Record<string, number> }[] };
  const sumOf = (name: string) => taskResults.reduce((sum, { scores }) => sum + (scores[name] ?? 0), 0);
  const { counts, high, low, evals: saved } = await json("evals cases latest --by sourcesCorrect");
  const rows = (rules: readonly { name: string; traces: number }[]) =>
    Object.fromEntries(rules.map(({ name, traces }) => [name, traces]));
  expect(counts).toMatchObject({ high: sumOf("sourcesCorrect"), low: taskResults.length - sumOf("sourcesCorrect") });
  expect(rows(high.patterns)).toMatchObject({ gold_cited: counts.high, gold_found: counts.high });
  const { gold_cited: cited, gold_found: found = 0, gold_opened: opened = 0 } = rows(low.failureModes);
  expect([cited, taskResults.length - found, taskResults.length - opened]).toEqual([
    counts.low,
    sumOf("foundGold"),
    sumOf("readGold"),
  ]);

  // The answers pass the cases that were made from them, although half of them cite a copy.
  const { version } = saved.find(({ name }: { name: string }) => name === "regression_cases");
  const { evals } = await json(`evals run regression_cases@${version} latest`);
  expect(evals).toMatchObject([{ name: "regression_cases", passed: high.regression.length, failed: 0 }]);
});
