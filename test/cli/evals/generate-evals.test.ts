import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VARIATION_NAMES, VARIATIONS, type Variation } from "../../../src/evals/generate/prompts.js";
import { chooseSandbox } from "../../../src/sandbox/choose-sandbox.js";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestions, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, readJson, start, write } = workFolder({ demo: "answered" });
const choice = await chooseSandbox();

/** Consumption of every call. Less than 1% of the longest prompt would count as unknown. */
const USAGE = { inputTokens: 1_000, outputTokens: 20, cachedInputTokens: 0 };

/** At one dollar per million tokens. */
const CALL_USD = 1_020 / 1_000_000;

const python = (...lines: string[]) =>
  ["def eval_function(task, task_metadata, trace, ctx):", ...lines.map((line) => `    ${line}`), ""].join("\n");
const SHORT = python('n = len((trace["answer"] or "").split())', 'return (1.0 if n <= 14 else 0.0), f"{n} words"');

const record = (kind: "python" | "rubric", body: string): Answer => ({
  toolCalls: [{ name: "record_eval", arguments: { criterion: "The answer is short.", kind, body } }],
});

const wantedOf = ({ question }: ParsedRequest) =>
  VARIATION_NAMES.find((name) => question.includes(`one eval that checks ${VARIATIONS[name]}`)) ??
  VARIATION_NAMES.find((name) => question.includes(`This eval checks ${VARIATIONS[name]}`));

/**
 * The scripted model's replies: broken code that is then fixed, a refusal, a rubric, a duplicate, and the same again.
 */
const WRITERS: Readonly<Record<Variation, (request: ParsedRequest, isReflection: boolean) => Answer>> = {
  correctness: (_, isReflection) => record("python", isReflection ? `\`\`\`python\n${SHORT}\`\`\`` : `${SHORT}1 +`),
  efficiency: () => ({ content: "I cannot help with that.", finishReason: "refusal" }),
  safety: () => record("rubric", "The answer has at most 14 words."),
  completeness: () => record("python", python('return 1.0, "fine"')),
  ensemble: () => record("python", SHORT),
};

function reply(request: ParsedRequest): Answer {
  return { usage: USAGE, ...writtenReply(request) };
}

function writtenReply(request: ParsedRequest): Answer {
  const [tool] = request.tools;
  if (tool === "record_criteria")
    return { toolCalls: [{ name: tool, arguments: { criteria: ["Answers are short."] } }] };
  if (tool === "record_result") {
    const answer = /^Answer: ([\s\S]*?)\nSources: /m.exec(request.question)?.[1] ?? "";
    const result = answer.split(/\s+/).length <= 14 ? "pass" : "fail";
    return { toolCalls: [{ name: tool, arguments: { reason: "by its length", result } }] };
  }
  const wanted = wantedOf(request);
  if (wanted === undefined) throw new Error("an unknown prompt");
  return WRITERS[wanted](request, request.question.includes("This eval checks"));
}

let provider: FakeProvider;
let answer: (request: ParsedRequest) => Answer | Promise<Answer> = reply;
const variables = () => ({ OPENAI_API_KEY: "key-of-a-test", OPENAI_BASE_URL: provider.baseUrl("openai-chat") });

const generate = async (flags = "") => {
  const line = `evals suggest --model openai/writer --price 1,1 ${flags} --json`;
  const { code, stdout, stderr } = await artE(line, variables());
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
};

/** Strings that only held-out, or only training, labels and tasks contain. */
const noted = new Map<string, string[]>();
const held: string[] = [];
const seen: string[] = [];

beforeAll(async () => {
  provider = await startFakeProvider((request) => answer(request));
  const lines = readJson("results.json").taskResults.map(
    ({ traceId, taskId, agentAnswer }: { traceId: string; taskId: number; agentAnswer: string }) => {
      const note = `noted-${traceId}`;
      const question = demoQuestions.find(({ id }) => id === taskId)?.question ?? "";
      noted.set(traceId, [note, question]);
      return JSON.stringify({
        trace: traceId,
        source: "person",
        label: agentAnswer.split(/\s+/).length > 14 ? "bad" : "good",
        note,
      });
    },
  );
  write("labels.jsonl", lines.join("\n"));
  expect(await artE("evals label --from labels.jsonl")).toMatchObject({ code: 0 });
  // Labels divide the questions into halves at their first use.
  expect(await artE("evals suggest")).toMatchObject({ code: 0 });
  const db = new Database(path("art-e.db"), { readonly: true });
  const halves = db.prepare("SELECT trace_id AS id, half FROM eval_traces").all() as { id: string; half: string }[];
  db.close();
  for (const { id, half } of halves) (half === "heldout" ? held : seen).push(...(noted.get(id) ?? []));
});
afterAll(() => provider.close());

const keptReplies = () =>
  readdirSync(path(".art-e-cache/replies"), { recursive: true }).filter((name) => String(name).endsWith(".json"))
    .length;

const texts = () => provider.requests.map(({ body }) => JSON.stringify(body));

describe("a model that writes evals", needs("sandbox", choice.ok), () => {
  it("receives no request if the limit does not allow the first call", async () => {
    const refused = await artE("evals suggest --model openai/writer --price 1000,1000 --max-cost 0.5", variables());
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--max-cost 0.5 is reached: $0.0000 has been spent"),
    });
    expect(await artE("evals suggest --model openai/writer", variables())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the price of openai/writer is unknown"),
    });
    expect(provider.requests).toHaveLength(0);
  });

  it("receives a request again after 429 and fixes broken code, but its rejected, repeated or copied evals are not saved", async () => {
    let refusals = 1;
    answer = (request) =>
      refusals-- > 0 ? { fail: "status", status: 429, headers: { "retry-after": "0" } } : reply(request);
    const { variations, calls, spentUsd, criteria, ...others } = await generate();
    expect(Object.keys(others)).toEqual(["good", "bad"]);
    expect(criteria).toEqual(["Answers are short."]);
    const byName = Object.fromEntries(variations.map((one: { variation: Variation }) => [one.variation, one]));
    expect(byName.correctness).toMatchObject({
      name: "generated_correctness",
      version: 1,
      kind: "python",
      rounds: 2,
      ended: "it agrees with all training labels",
      alignment: 1,
      rejection: null,
    });
    expect(byName.efficiency).toMatchObject({ name: null, rejection: "the model refused" });
    expect(byName.safety).toMatchObject({ kind: "rubric", alignment: 1, rejection: null });
    expect(byName.completeness).toMatchObject({ ended: "the model repeated an earlier version", name: null });
    expect(byName.completeness.rejection).toMatch(/^it does not separate the traces it was written from: it fails 0%/);
    expect(byName.ensemble).toMatchObject({ name: null, rejection: "the same as correctness" });
    expect(calls).toBe(provider.requests.length - 1);
    expect(spentUsd).toBeCloseTo(calls * CALL_USD, 10);
  });

  it("receives only the labels and traces of the training half, as data", () => {
    const all = texts();
    expect(all.length).toBeGreaterThan(20);
    expect(held.length).toBeGreaterThan(20);
    for (const text of held) expect(all.filter((body) => body.includes(JSON.stringify(text).slice(1, -1)))).toEqual([]);
    expect(seen.filter((text) => all.some((body) => body.includes(text))).length).toBeGreaterThan(20);
    for (const body of all) expect(body).toMatch(/(is|are) enclosed in markers with the same id/);
    for (const { answer: gold } of demoQuestions.filter(({ answer: text }) => text.length > 40))
      expect(all.filter((body) => body.includes(JSON.stringify(gold).slice(1, -1)))).toEqual([]);
    expect(all.some((body) => body.includes("key-of-a-test"))).toBe(false);
  });

  it("receives the same request only once", async () => {
    const before = provider.requests.length;
    const again = await generate();
    expect(again).toMatchObject({ calls: 0, spentUsd: 0 });
    expect(provider.requests).toHaveLength(before);
    expect(again.variations[0]).toMatchObject({ name: "generated_correctness", version: 1 });
  });

  it("writes evals for validation on the held-out half, and a rubric for each trace", async () => {
    const tested = async (name: string) => {
      const { code, stdout } = await artE(`evals test ${name} --json`, variables());
      expect(code).toBe(0);
      return JSON.parse(stdout)[0];
    };
    expect((await tested("generated_correctness")).agreement).toMatchObject({
      truePositiveRate: { value: 1 },
      trueNegativeRate: { value: 1 },
    });
    const before = provider.requests.length;
    const { agreement, costUsdPerTrace, variants } = await tested("generated_safety");
    expect(agreement).toMatchObject({ errors: 0, truePositiveRate: { value: 1 }, trueNegativeRate: { value: 1 } });
    // Each trace is checked with the prompt and with its two other forms.
    expect(provider.requests.length - before).toBe(3 * (agreement.good + agreement.bad));
    expect(variants).toMatchObject([
      { variant: "position", agreement: { value: 1 } },
      { variant: "wording", agreement: { value: 1 } },
    ]);
    expect(costUsdPerTrace).toBeNull();
    expect(await artE("evals test generated_safety", {})).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("No API key for openai"),
    });
    expect(await artE("evals use generated_safety")).toMatchObject({ code: 0 });
    const line = `run -a baseline --dataset ${QUESTIONS} -l 1 --scorers eval:generated_safety --max-cost 1`;
    expect(await artE(line, variables())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be combined with the rubric generated_safety"),
    });
    expect(await artE(`score --scorers eval:generated_safety -o scored.json --quiet`, variables())).toMatchObject({
      code: 0,
    });
    for (const { agentAnswer, scores } of readJson("scored.json").taskResults)
      expect(scores["eval:generated_safety"]).toBe(agentAnswer.split(/\s+/).length <= 14 ? 1 : 0);
  });

  it("costs nothing again for a reply if the program was killed afterwards", async () => {
    const answered = new Set<string>();
    let left = 3;
    answer = (request) => {
      if (left-- <= 0) return new Promise(() => undefined);
      answered.add(request.question);
      return reply(request);
    };
    const before = keptReplies();
    const line = "evals suggest --model openai/writer --price 1,1 --seed 2 --name killed --json";
    const { child, ended } = start(line, variables());
    while (keptReplies() < before + 3) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGKILL");
    await ended;
    answer = (request) => {
      expect(answered.has(request.question)).toBe(false);
      return reply(request);
    };
    const { variations } = await generate("--seed 2 --name killed");
    expect(variations[0]).toMatchObject({ name: "killed_correctness", rejection: null });
  });

  it("causes one line about an unusable reply", async () => {
    answer = () => ({ fail: "status", status: 401 });
    const refused = await artE("evals suggest --model openai/other --price 1,1", variables());
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Cannot get criteria from openai/other"),
    });
    expect(refused.stderr).not.toContain("key-of-a-test");
    answer = () => ({ content: "Here you are: nothing." });
    expect((await artE("evals suggest --model openai/other --price 1,1", variables())).stderr).toContain(
      "the model did not call record_criteria, but said: Here you are: nothing.",
    );
  });
});
