import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, readJson, write } = workFolder({ demo: "answered" });

/** People call answers of more than 14 words bad. The judge accepts up to 16, so it makes errors. */
const LONG = 15;
const ALLOWED = 16;
let allowed = ALLOWED;
/** The judge is stricter if the answer comes before the gold answer. */
let allowedFirst = LONG;

const MODEL = "openai/gpt-6-luna";

const lengthOf = (answer: string) => answer.trim().split(/\s+/).length;

/** The judged answer in a prompt, and whether it comes before the gold answer. */
function promptOf(body: unknown) {
  const text = JSON.stringify(body).replaceAll("\\n", "\n").replaceAll('\\"', '"');
  const [, answer = ""] = /<given_answer id="\w+">\n([\s\S]*?)\n<\/given_answer/.exec(text) ?? [];
  const isFirst = text.lastIndexOf("<given_answer id") < text.lastIndexOf("<correct_answer id");
  return { text, answer, isFirst };
}

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(({ model, question }) => {
    if (!model.startsWith("gpt")) return { fail: "status", status: 404 };
    const { answer, isFirst } = promptOf(question);
    const isGood = lengthOf(answer) <= (isFirst ? allowedFirst : allowed);
    return {
      toolCalls: [{ name: "record_verdict", arguments: { reason: "counted", verdict: isGood ? "correct" : "wrong" } }],
    };
  });
});
afterAll(() => provider.close());

const env = () => ({ OPENAI_API_KEY: "wombat-271828-key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") });

async function json(line: string) {
  const { code, stdout, stderr } = await artE(`${line} --json`, env());
  expect({ line, stderr: code === 0 ? "" : stderr }).toEqual({ line, stderr: "" });
  return JSON.parse(stdout);
}

interface Task {
  readonly traceId: string;
  readonly agentAnswer: string;
  readonly scores: Readonly<Record<string, number | null>>;
}

let runId = "";
let judged: readonly Task[] = [];
let before = 0;

/** Ids of the traces in a half, read from the database. */
function half(name: "training" | "heldout"): ReadonlySet<string> {
  const db = new Database(path("art-e.db"), { readonly: true });
  const ids = db.prepare("SELECT trace_id FROM eval_traces WHERE half = ?").pluck().all(name) as string[];
  db.close();
  return new Set(ids);
}

const isLabeledGood = ({ agentAnswer }: Task) => lengthOf(agentAnswer) <= LONG;

beforeAll(async () => {
  runId = readJson("results.json").runId;
  const answers: readonly Task[] = readJson("results.json").taskResults;
  const labels = answers.map((task) => ({
    trace: task.traceId,
    label: isLabeledGood(task) ? "good" : "bad",
    source: "person",
    drawn: "all",
  }));
  write("labels.jsonl", labels.map((line) => JSON.stringify(line)).join("\n"));
  expect((await artE("evals add judge --judge latest", env())).stderr).toContain("no judge graded it");
  expect((await artE(`score latest --judge ${MODEL} -o judged.json`, env())).code).toBe(0);
  judged = readJson("judged.json").taskResults;
  await json("evals label --from labels.jsonl");
  await json("evals add judge --judge latest");
});

beforeEach(() => {
  before = provider.requests.length;
});

describe("a judge as an eval", () => {
  it.each(["accuracy", "judgeCorrect", "judgeCorrect:corrected"])(
    "decides no gate on %s with --require-validated before it was tested",
    async (metric) => {
      const { code, stderr } = await artE(`gate latest --fail-under ${metric}=0.1 --require-validated`);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("never tested") });
    },
  );

  it("faces people's held-out labels, with other forms of its prompt and its cost", async () => {
    const { stdout } = await artE("evals test judge --json", env());
    const [test] = JSON.parse(stdout);
    const heldOut = judged.filter(({ traceId }) => half("heldout").has(traceId));
    const count = (isGood: boolean, verdict: number) =>
      heldOut.filter((task) => isLabeledGood(task) === isGood && task.scores.judgeCorrect === verdict).length;
    expect(test.agreement.confusion).toEqual({
      goodPassed: count(true, 1),
      goodFailed: count(true, 0),
      badPassed: count(false, 1),
      badFailed: count(false, 0),
    });
    expect(test.agreement.confusion.badPassed).toBeGreaterThan(0);
    expect(test.agreement.trueNegativeRate.value).toBe(count(false, 0) / (count(false, 0) + count(false, 1)));
    // The verdicts are in the traces. Only the two other forms of the prompt are new calls.
    const stricter = heldOut.filter(
      ({ agentAnswer }) => lengthOf(agentAnswer) > LONG && lengthOf(agentAnswer) <= ALLOWED,
    );
    const [position, wording] = test.variants;
    const changed = stricter.filter(({ scores }) => scores.judgeCorrect === 1).length;
    expect(position).toMatchObject({ variant: "position", passedOnly: 0, failedOnly: changed });
    expect(position.agreement.value).toBeCloseTo(1 - changed / heldOut.length, 9);
    expect(wording).toMatchObject({ variant: "wording", passedOnly: 0, failedOnly: 0, agreement: { value: 1 } });
    const calls = provider.requests.slice(before).map(({ body }) => promptOf(body));
    expect(calls.filter(({ isFirst }) => isFirst)).toHaveLength(calls.length / 2);
    expect(calls.filter(({ text }) => text.includes("Your task is to check an answer"))).toHaveLength(calls.length / 2);
    expect(test.costUsdPerTrace).toBeGreaterThan(0);
    const text = (await artE("evals show judge")).stdout;
    expect(text).toMatch(/Judge: openai\/gpt-6-luna \(verdict 2, prompt [0-9a-f]{12}\)/);
    expect(text).toMatch(/Cost per trace: \$0\.\d+/);
    expect(text).toMatch(/Other position of the prompt: same result 0\.\d+ .*; 0 pass and \d+ fail only there\./);
  });

  it.each(["accuracy", "judgeCorrect", "judgeCorrect:corrected"])(
    "decides a gate on %s with --require-validated after its test passed",
    async (metric) => {
      const { code, stdout } = await artE(`gate latest --fail-under ${metric}=0.1 --require-validated`);
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(`^passed +${metric}`) });
    },
  );

  it("decides no gate with --require-validated after its test rejected it, and none without a word", async () => {
    allowed = Number.POSITIVE_INFINITY;
    const test = await artE("evals test judge --fresh --json", env());
    allowed = ALLOWED;
    expect(JSON.parse(test.stdout)[0].rejections).not.toEqual([]);
    const rejected = "the eval's newest test rejected it";
    for (const metric of ["accuracy", "judgeCorrect", "judgeCorrect:corrected"]) {
      const { code, stderr } = await artE(`gate latest --fail-under ${metric}=0.1 --require-validated`);
      expect({ metric, code, stderr }).toEqual({ metric, code: 2, stderr: expect.stringContaining(rejected) });
      const { stdout } = await artE(`gate latest --fail-under ${metric}=0.1`);
      expect(stdout).toMatch(new RegExp(`^(passed|missed) +${metric}.*; not validated: ${rejected}`));
    }
    expect((await artE("evals test judge", env())).code).toBe(0);
  });

  it("warns if the results depend on the position of the answer in the prompt", async () => {
    allowedFirst = 0;
    const { stdout } = await artE("evals test judge --fresh --json", env());
    allowedFirst = LONG;
    const [{ variants, warnings }] = JSON.parse(stdout);
    const { value, n } = variants[0].agreement;
    expect(value).toBeLessThan(0.9);
    expect(warnings).toContain(
      `the results agree on only ${Math.round(value * n)} of ${n} traces with another position of the prompt`,
    );
  });

  it("corrects the rate of correct answers in the run's summary, gates and report", async () => {
    const { scores } = await json(`stats --run ${runId}`);
    const truth = judged.filter(isLabeledGood).length / judged.length;
    const { value, corrected } = scores.judgeCorrect;
    expect(value).toBeGreaterThan(truth);
    expect(Math.abs(corrected.value - truth)).toBeLessThan(Math.abs(value - truth));
    expect(corrected.low).toBeLessThanOrEqual(truth);
    expect(corrected.high).toBeGreaterThanOrEqual(truth);
    expect((await artE(`stats --run ${runId}`)).stdout).toMatch(/corrected by people's labels: +0\.\d+ \[/);

    // A corrected rate is uncertain, so its interval must reach the limit.
    const [above, below] = [corrected.low + 0.01, corrected.low - 0.01];
    const missed = await artE(`gate latest --fail-under judgeCorrect:corrected=${above}`);
    expect(missed).toMatchObject({ code: 3 });
    expect(missed.stdout).toContain(`judgeCorrect:corrected (judgeCorrect) ${corrected.value.toFixed(3)}`);
    expect((await artE(`gate latest --fail-under judgeCorrect:corrected=${below}`)).code).toBe(0);

    await artE(`report ${runId} -o report.html`);
    expect(read("report.html")).toMatch(/"score":"judgeCorrect","run":0,"name":"judge","version":1,"reference":true/);
  });

  it("cannot correct the run of a judge without an eval", async () => {
    await artE(`run -a baseline --dataset ${QUESTIONS} -l 3 --judge ${MODEL} --judge-votes 3 --quiet`, env());
    const { stderr } = await artE("gate latest --fail-under judgeCorrect:corrected=0.5");
    expect(stderr).toContain("Cannot correct judgeCorrect: the database does not contain an eval of the run's judge.");
  });

  it("never faces a judge's own labels", async () => {
    await json(`evals label ${runId} --from judge --mode right`);
    const { stderr } = await artE("evals test judge --mode right", env());
    expect(stderr).toContain("Too few labels to test evals: 0 good and 0 bad traces for right");
  });

  it("shows labeled answers of the training half in its prompt, but not for their own question", {
    tags: ["slow"],
  }, async () => {
    const added = await json(`evals add judge --judge ${MODEL} --examples 4`);
    expect(added).toMatchObject({ name: "judge", version: 2, kind: "judge" });
    const { examples } = added.judge;
    expect(examples.map(({ label }: { label: string }) => label)).toEqual(["good", "bad", "good", "bad"]);
    const training = judged.filter(({ traceId }) => half("training").has(traceId));
    for (const { answer, label } of examples) {
      const same = training.filter(({ agentAnswer }) => agentAnswer.slice(0, 1_000) === answer);
      expect(same.map(isLabeledGood)).toContain(label === "good");
    }
    await artE("evals test judge@2", env());
    const tests = provider.requests.slice(before).map(({ body }) => promptOf(body));
    expect(tests.length).toBeGreaterThan(0);
    for (const { text } of tests) expect(text.match(/<example_question id/g)).toHaveLength(4);

    const calls = provider.requests.length;
    const line = `run -a baseline --dataset ${QUESTIONS} -l 0 --judge eval:judge@2 -o again.json --quiet`;
    expect((await artE(line, env())).code).toBe(0);
    expect(readJson("again.json").settings.judge.examples).toEqual(examples);
    const shown = provider.requests
      .slice(calls)
      .map(({ body }) => promptOf(body).text.match(/<example_question id/g)?.length ?? 0);
    expect(shown.filter((one) => one === 3).length).toBeGreaterThan(0);
    expect(new Set(shown)).toEqual(new Set([3, 4]));
    const trace = await json("show latest/1");
    expect(trace.judge).toMatchObject({
      protocol: "verdict",
      version: 2,
      promptHash: expect.stringMatching(/^\w{12}$/),
    });
    expect(trace.judge.examples).toBeUndefined();
    const first = await json(`show ${runId}/1`);
    expect(first.judge.promptHash).not.toBe(trace.judge.promptHash);
  });

  it("requires enough labels for its examples", async () => {
    const { stderr } = await artE(`evals add judge --judge ${MODEL} --examples 4 --mode none`, env());
    expect(stderr).toContain("Too few labels for 4 examples: people labeled 0 good and 0 bad answers");
  });

  it("cannot come from a file that sends the key to another server", async () => {
    await artE("evals export judge@1 -o exported");
    expect((await artE("evals add exported", env())).code).toBe(0);
    const file = JSON.parse(read("exported/judge.json"));
    write("strange.json", JSON.stringify({ ...file, judge: { ...file.judge, baseUrl: "http://127.0.0.1:9/v1" } }));
    const { code, stderr } = await artE("evals add strange.json", env());
    expect(code).toBe(2);
    expect(stderr).toContain("its judge uses the server http://127.0.0.1:9/v1, which would receive your API key");
  });

  it("has no form as code", async () => {
    for (const format of ["python", "typescript", "inspect"]) {
      expect((await artE(`evals export judge@1 --format ${format} -o code`)).stderr).toContain("it is a judge");
    }
  });
});

it("recommends the eval in judge calibrate", async () => {
  const { code, stderr } = await artE("judge calibrate labels.jsonl");
  expect(code).toBe(2);
  expect(stderr).toContain("art-e evals add judge --judge MODEL");
});

it("takes the judge of a run by the run's name in evals add", async () => {
  await json(`runs rename ${runId} judged`);
  const named = await json("evals add named_judge --judge judged");
  expect(named.judge).toEqual((await json("evals show judge@1")).judge);
  expect((await artE("evals add other_judge --judge nosuch", env())).stderr).toContain('Unknown run "nosuch"');
});
