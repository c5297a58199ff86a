import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestions, type Line, QUESTIONS, workFolder } from "../art-e.js";
import { briefEval, isBrief, labelLines } from "./brief-answers.js";

const { artE, path, readJson, write } = workFolder({ demo: "answered" });

let provider: FakeProvider;
/** Maximum number of words that the judge passes. A new version of the model is stricter. */
let allowedWords = 14;
/** The agent's answer to the question with this id. */
let answerOf = (id: number): string => (id % 5 < 2 ? LONG_ANSWER : SHORT_ANSWER);

const LONG_ANSWER = "The meeting is on the third floor in the large room next to the kitchen, as the mail says.";
const SHORT_ANSWER = "The meeting is on the third floor.";
const SIGN_OFF = "Please do not hesitate to ask again if you need anything else, and have a very pleasant day, yours.";

beforeAll(async () => {
  provider = await startFakeProvider(reply);
});

afterAll(() => provider.close());

function reply(request: ParsedRequest): Answer {
  if (request.tools.includes("record_result")) {
    const answer = /^Answer: ([\s\S]*?)\nSources: /m.exec(request.question)?.[1] ?? "";
    const result = answer.split(/\s+/).length <= allowedWords ? "pass" : "fail";
    return { toolCalls: [{ name: "record_result", arguments: { reason: "by its length", result } }] };
  }
  const { id = 0 } = demoQuestions.find(({ question }) => request.question.includes(question)) ?? {};
  return { toolCalls: [{ name: "return_final_answer", arguments: { answer: answerOf(id), sources: [] } }] };
}

const variables = () => ({ ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: provider.url });

/** Runs a command line that must end with this code, and returns its parsed JSON output. */
async function json(line: Line, expected = 0) {
  const words = typeof line === "string" ? line.split(" ") : line;
  const { code, stdout, stderr } = await artE([...words, "--json"], variables());
  expect({ line, code, stderr: code === expected ? "" : stderr }).toEqual({ line, code: expected, stderr: "" });
  return JSON.parse(stdout);
}

type Answers = Parameters<typeof labelLines>[0];

/** Imports labels: a trace is good if its answer is. */
async function label(file: string, traces: Answers, isGood: (answer: string) => boolean, drawn: string) {
  write(file, labelLines(traces, { drawn }, isGood));
  await json(`evals label --from ${file}`);
}

it("evals watch without a name requires a validated active eval", async () => {
  await json("evals add has_source");
  const { code, stderr } = await artE("evals watch latest");
  expect(code).toBe(2);
  expect(stderr).toContain("No eval is active.");
  await json("evals retire has_source@1");
});

describe("evals watch of a rubric whose judge changes", () => {
  let runId = "";

  beforeAll(async () => {
    const { runId: id, taskResults } = readJson("results.json");
    runId = id;
    await label("labels.jsonl", taskResults, isBrief, "all");
    await artE(["evals", "modes", "describe", "overall", "--sentence", "The answer is brief."]);
    await json("evals add brief_rubric --rubric anthropic/claude-haiku-5-5");
    await json("evals test brief_rubric@1");
    await json("evals use brief_rubric");
  });

  it("requires a test", async () => {
    await json("evals add untested --rubric anthropic/claude-haiku-5-5");
    const { code, stderr } = await artE(`evals watch untested@1 ${runId}`, variables());
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("never validated") });
    expect(stderr).toContain("art-e evals test untested@1");
  });

  it("stores 30 anchors with repeated judgments when the eval is first watched", async () => {
    const { passed, evals } = await json(`evals watch brief_rubric ${runId}`);
    expect(passed).toBe(true);
    expect(evals).toMatchObject([
      {
        name: "brief_rubric",
        version: 1,
        changed: "none",
        watches: 1,
        notFresh: "reference",
        otherAgents: null,
        judge: { anchors: { successes: 0, n: 30 }, before: { successes: 0, n: 120 } },
        agent: { fresh: { successes: 0, n: 0 } },
      },
    ]);
    const db = new Database(path("art-e.db"), { readonly: true });
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    expect(["eval_baselines", "eval_anchors", "eval_watches", "eval_anchor_rounds"].map(count)).toEqual([
      1, 30, 1, 150,
    ]);
    db.close();
  });

  it("judges the same anchors again in each watch, without cached results", async () => {
    const before = provider.requests.length;
    const { evals } = await json(`evals watch ${runId}`);
    expect(evals).toMatchObject([{ name: "brief_rubric", changed: "none", watches: 2 }]);
    expect(provider.requests.length - before).toBe(30);
  });

  it("blames the judge, not the agent, when its results change, and ends with exit code 3", async () => {
    allowedWords = 10;
    const first = await artE(`evals watch brief_rubric ${runId} --json`, variables());
    const [{ changed, changedAnchors, judge }] = JSON.parse(first.stdout).evals;
    expect({ code: first.code, changed }).toEqual({ code: 3, changed: "judge" });
    expect(changedAnchors.length).toBe(judge.anchors.successes);
    expect(changedAnchors[0]).toMatchObject({ before: "pass", now: "fail", reason: "by its length" });
    const { code, stdout } = await artE(`evals watch brief_rubric ${runId}`, variables());
    expect(code).toBe(3);
    expect(stdout).toContain("the judge changed");
    expect(stdout).toContain("Validate it again: art-e evals test brief_rubric@1 --fresh");
  });

  it("starts again after a validation that does not use cached results", async () => {
    const before = provider.requests.length;
    const { code, stdout } = await artE("evals test brief_rubric@1 --fresh --json", variables());
    const [{ agreement }] = JSON.parse(stdout);
    const { good, bad, truePositiveRate } = agreement;
    // With the prompt and with its two other forms.
    expect(provider.requests.length - before).toBe(3 * (good + bad));
    // The stricter judge fails good answers of 11 to 14 words.
    expect(truePositiveRate.value).toBeLessThan(1);
    expect([0, 3]).toContain(code);
    // The stored scores of the run suffice, without cached results: only 30 anchors are judged, five times.
    await json(`evals run brief_rubric@1 ${runId}`);
    rmSync(path(".art-e-cache"), { recursive: true });
    const scored = provider.requests.length;
    expect((await json(`evals watch brief_rubric ${runId}`)).evals).toMatchObject([{ changed: "none", watches: 1 }]);
    expect(provider.requests.length - scored).toBe(150);
  });
});

describe("evals watch of rules whose agent changes", () => {
  const RUN = `run -a polite --model-id anthropic/claude-haiku-5-5 --no-judge --dataset ${QUESTIONS} -l 0 --quiet`;
  let first = "";
  let second = "";
  /** The fraction of good answers of the second run. */
  let truth = 0;
  let answers: Answers = [];

  beforeAll(async () => {
    await artE("agents clone email-search polite");
    expect((await artE(`${RUN} -o first.json`, variables())).code).toBe(0);
    first = readJson("first.json").runId;
    await label("first.jsonl", readJson("first.json").taskResults, (answer) => answer === SHORT_ANSWER, "all");
    write("brief.json", briefEval());
    await json("evals add brief.json");
    await json("evals test brief@1");
    await json("evals use brief");
    // The agent becomes better and polite.
    answerOf = (id) => `${id % 20 === 0 ? LONG_ANSWER : SHORT_ANSWER} ${SIGN_OFF}`;
    await json(["agents", "set", "polite", "--prompt", "Answer, and end with a polite sign-off."]);
    expect((await artE(`${RUN} -o second.json`, variables())).code).toBe(0);
    const results = readJson("second.json");
    second = results.runId;
    answers = results.taskResults;
    truth = answers.filter(({ agentAnswer }) => agentAnswer.startsWith(SHORT_ANSWER)).length / answers.length;
  });

  it("finds nothing on the run of the validation", async () => {
    expect((await json(`evals watch brief ${first}`)).evals).toMatchObject([
      { changed: "none", notFresh: "reference", judge: { evidence: null, anchors: { successes: 0, n: 30 } } },
    ]);
  });

  it("blames the agent, because the rules judge the anchors as before", async () => {
    const { passed, evals } = await json(`evals watch brief ${second}`, 3);
    expect(passed).toBe(false);
    expect(evals).toMatchObject([
      {
        changed: "agent",
        judge: { evidence: null, anchors: { successes: 0, n: 30 } },
        agent: { fresh: { successes: 0, n: answers.length } },
      },
    ]);
    expect(evals[0].agent.evidence.p).toBeLessThan(evals[0].agent.evidence.limit);
    const { stdout } = await artE(`evals watch brief ${second}`);
    expect(stdout).toContain("the agent changed, or its tasks");
    expect(stdout).toContain("An earlier watch has counted the traces of this run.");
    expect(stdout).toContain(`art-e evals label ${second}`);
  });

  it("appears in evals run, gate and the report, which name agent, version, model and prompt", async () => {
    const agent = (version: number) =>
      new RegExp(`polite@${version} \\(anthropic/claude-haiku-5-5, prompt [0-9a-f]{8}\\)`);
    const { stdout } = await artE(`evals run brief ${second}`);
    expect(stdout).toContain("brief was validated on another agent");
    expect(stdout).toMatch(agent(1));
    expect(stdout).toMatch(agent(2));
    expect(stdout).toContain(`label 20 of them: art-e evals label ${second}`);
    const gate = await artE(`gate ${second} --fail-under eval:brief=0.9`);
    expect(gate.stderr).toContain("validated on another agent");
    expect(gate.stderr).toContain(`art-e evals label ${second}`);
    const report = await artE(`report ${second} --format md`);
    expect(report.stdout).toContain("brief was validated on another agent");
    expect(report.stdout).toContain(`Label 20 of its traces: \`art-e evals label ${second}\``);
  });

  it("corrects the pass rate by 20 labels of the run", async () => {
    const { evals: before } = await json(`evals run brief ${second}`);
    expect(before[0].passRate.value).toBe(0);
    expect(before[0].otherAgents.label.count).toBe(20);
    expect(Math.abs(before[0].corrected.value - truth)).toBeGreaterThan(0.5);
    // This sample contains one of the three bad answers, like most random samples.
    const sample = answers.filter((_, i) => i % 3 === 0).slice(0, 20);
    await label("second.jsonl", sample, (answer) => answer.startsWith(SHORT_ANSWER), "random");
    const { evals: after } = await json(`evals run brief ${second}`);
    expect(after[0]).toMatchObject({ labelsOfRun: 20, otherAgents: null });
    expect(Math.abs(after[0].corrected.value - truth)).toBeLessThan(0.1);
    expect(after[0].corrected.low).toBeLessThanOrEqual(truth);
    expect(after[0].corrected.high).toBeGreaterThanOrEqual(truth);
  });
});
